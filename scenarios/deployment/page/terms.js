// What the terms of any session have, as /session.json has them.

import { Refusal } from './codec.js'

/**
 * The terms of any session; those of a system have more.
 * @typedef {object} AnyTerms
 * @property {string[]} words session, protocol and kind
 * @property {Record<string, any>} parameters
 * @property {[string, string, number]} descriptor the session's id, its roster's digest, until when anybody takes part
 * @property {string} title
 * @property {string} question empty where there is none
 * @property {boolean} isCentral whether the server is told the ballot itself
 * @property {import('./masked.js').Masked|null} masked how it is masked, where the server sees a sum alone
 * @property {boolean} hasOwn whether the server tells each party something alone, beside the outcome
 * @property {{ isPublished: boolean }[]} steps whether the server tells everybody something when the step has closed
 * @property {Record<string, number>} epsilon of a report of each kind, and the total of all
 * @property {Record<string, string>} files the SHA-256 of each of this page's files, in base64url
 */

/** @param {string} what @returns {Refusal} */
export const unsupported = (what) => new Refusal(`This page cannot take part in such a session (${what}).`)

/**
 * Read what the terms of any session have.
 * @template {{ isPublished: boolean }} Step
 * @param {any} json
 * @param {{ isCentral: boolean, isMasked?: boolean, hasOwn?: boolean, steps: Step[], epsilon: Record<string, number> }} drawn what this page
 *   draws and sends
 * @returns {AnyTerms & { steps: Step[] }}
 * @throws {Refusal} the terms say something else of it, or are no deployment's
 */
export function readAnyTerms(json, { isCentral, isMasked = false, hasOwn = false, steps, epsilon }) {
  const isOurs = json.wire === 10 && json.kind === 'deployment'
  if (!isOurs || json.trust !== (isCentral ? 'central' : isMasked ? 'distributed' : 'local')) {
    throw unsupported(`${json.kind} of ${json.protocol}, wire ${json.wire}, trust ${json.trust}`)
  }
  if (!(Math.abs(epsilon.total - json.epsilon.total) <= 1e-9 * epsilon.total)) {
    throw new Refusal('The terms state another privacy cost than what this page would draw.')
  }
  return {
    words: [json.session, json.protocol, json.kind],
    parameters: json.parameters,
    descriptor: json.descriptor,
    title: json.title,
    question: json.question ?? '',
    isCentral,
    masked: null, // `fetchTerms` reads that
    hasOwn,
    steps,
    epsilon,
    files: json.page ?? {},
  }
}
