// Which systems this page takes part in. Each is in a module of its own, which is fetched for its sessions alone.

import { unsupported } from './terms.js'

/** @typedef {import('./party.js').Seat} Seat */

/** @typedef {import('./terms.js').AnyTerms & { system: System }} Terms */

/**
 * What a part of a ballot costs: how sure of it somebody can be who had no idea about it, whether it is all of it, and ε.
 * @typedef {{ about: string, sure: number, isAll: boolean, loss: string }} Part
 */

/**
 * What a system says, asks and shows. Its terms and its ballots are its own.
 * @typedef {object} System
 * @property {Record<'act'|'start'|'session'|'person'|'thing'|'of'|'cast'|'done', string>} phrases
 * @property {(json: any) => any} readTerms Refusal: this page cannot take part
 * @property {(terms: any) => Node[]} asked
 * @property {(terms: any) => string} does what this device does to a ballot before it sends it, where nobody is trusted
 * @property {(terms: any) => string} known what is known of each party
 * @property {(terms: any) => Part|null} part
 * @property {(terms: any, seat: Seat, earlier: any) => Promise<any>} askBallot from what was chosen before, or null
 * @property {(terms: any, seat: Seat, ballot: any) => [Node|string, Node|string][]} answers
 * @property {(terms: any, seat: Seat, ballot: any) => Uint8Array[]} draw the report of each step, as it is sent
 * @property {(terms: any, step: number) => string} stepInWords
 * @property {(terms: any, outcome: any, own: any) => Node[]} outcome
 */

/** @type {Record<string, () => Promise<{ system: System }>>} */
const MODULES = {
  dpwevote: () => import('./weighted.js'),
  'fair-voting': () => import('./rankings.js'),
  'truth-discovery': () => import('./crowd.js'),
}

/**
 * Read the terms of a session.
 * @param {any} json
 * @returns {Promise<Terms>}
 * @throws {Refusal} this page cannot take part by them
 */
export async function readTerms(json) {
  if (!Object.hasOwn(MODULES, json.protocol)) throw unsupported(String(json.protocol))
  const { system } = await MODULES[json.protocol]()
  return { ...system.readTerms(json), system }
}
