// Which systems this page takes part in. Each is in a module of its own.

import { Refusal } from './codec.js'
import { weighted } from './weighted.js'

/** @typedef {import('./party.js').Seat} Seat */

/** @typedef {import('./terms.js').AnyTerms & { system: System }} Terms */

/**
 * What a system says, asks and shows. Its terms and its ballots are its own.
 * @typedef {object} System
 * @property {Record<'act'|'start'|'session'|'people'|'thing'|'of'|'learners'|'cast'|'done', string>} phrases
 * @property {(json: any) => any} readTerms Refusal: this page cannot take part
 * @property {(terms: any) => Node[]} asked
 * @property {(terms: any) => Node[]} learners
 * @property {(terms: any) => Node[]} cost
 * @property {(terms: any, seat: Seat, earlier: any) => Promise<any>} askBallot from what was chosen before, or null
 * @property {(terms: any, seat: Seat, ballot: any) => [Node|string, Node|string][]} answers
 * @property {(terms: any, seat: Seat, ballot: any) => Uint8Array[]} draw the report of each step, as it is sent
 * @property {(terms: any, step: number) => string} stepInWords
 * @property {(terms: any, outcome: any, own: any) => Node[]} outcome
 */

/** @type {Record<string, System>} */
const SYSTEMS = { dpwevote: weighted }

/**
 * Read the terms of a session.
 * @param {any} json
 * @returns {Terms}
 * @throws {Refusal} this page cannot take part by them
 */
export function readTerms(json) {
  const system = Object.hasOwn(SYSTEMS, json.protocol) ? SYSTEMS[json.protocol] : null
  if (!system) throw new Refusal(`This page cannot take part in sessions of ${json.protocol}.`)
  return { ...system.readTerms(json), system }
}
