// A party of a vote as a state machine: it takes messages and returns effects, and never waits, stores or sends.

import {
  Raw, Refusal, TAG, WIRE_VERSION, bigEndian, concatenate, isEqual, pack, readMessage, transcriptOf, utf8,
} from './codec.js'

/** @typedef {import('./terms.js').AnyTerms} Terms */

/**
 * A party's seat: its place in the roster, and what the server says of it.
 * @typedef {{ place: number, name: string, row: number[] }} Seat
 */

/**
 * What a party has kept of its conversation: the report of each step, drawn before the first is sent; the requests that
 * were answered, the receipts that came back, and the release, if any.
 * @typedef {object} Past
 * @property {Uint8Array[]} reports
 * @property {Uint8Array[]} requests
 * @property {Map<number, Uint8Array>} receipts
 */

/**
 * What a party asks for, in order. What is to be kept has to be durable before anything after it is done.
 * `heard` is what the transcript's digest is made of; null where the party has none.
 * @typedef {{ keep: string, value: any }
 *   | { send: Uint8Array }
 *   | { release: Uint8Array, own: Uint8Array|null, isLate: boolean, heard: Uint8Array|null }} Effect
 */

/** The server, or the session, has ended the conversation. */
export class SessionAborted extends Refusal {
  /** @param {any[]} fields of an `Abort` */
  constructor([reason, phase = '', received = 0, required = 0]) {
    super(String(reason))
    this.phase = String(phase)
    this.received = Number(received)
    this.required = Number(required)
  }
}

const UNEXPECTED = 'The server sent a message that has no place here.'

export class Party {
  /**
   * @param {Terms} terms
   * @param {Seat} seat
   * @param {Past} past
   */
  constructor(terms, seat, past) {
    this.terms = terms
    this.seat = seat
    this.past = past
    /** @type {Uint8Array|null} as heard in this conversation */
    this.parameters = null
  }

  /** @returns {Uint8Array} the `Hello` that begins a conversation */
  hello() {
    this.parameters = null
    const { descriptor, words } = this.terms
    const { requests, receipts } = this.past
    const last = Math.max(-1, ...receipts.keys())
    const shown = last < 0 ? null : [TAG.acknowledgement, last, receipts.get(last)]
    return pack([TAG.hello, WIRE_VERSION, ...words, this.seat.name, descriptor[0], [], requests.length, shown])
  }

  /**
   * Take a message of the server's.
   * @param {Uint8Array} bytes
   * @returns {Effect[]}
   * @throws {SessionAborted} it ends the session
   * @throws {Refusal} it is at fault: leave by an `Abort` with the error's message
   */
  receive(bytes) {
    const [{ value: tag }, ...fields] = readMessage(bytes)
    if (tag === TAG.abort) throw new SessionAborted(fields.map((field) => field.value))
    if (tag === TAG.welcome && this.parameters === null) return this.#onWelcome(fields)
    if (this.parameters !== null) {
      if (tag === TAG.request) return this.#onRequest(fields, bytes)
      if (tag === TAG.acknowledgement) return this.#onAcknowledgement(fields)
      if (tag === TAG.release) return this.#onRelease(fields)
    }
    throw new Refusal(UNEXPECTED)
  }

  /** @param {import('./codec.js').Element[]} fields @returns {Effect[]} */
  #onWelcome(fields) {
    const [version, parameters, row = [], descriptor = ['', '', 0]] = fields.map((field) => field.value)
    const heard = [version, parameters, row, descriptor]
    const agreed = [WIRE_VERSION, this.terms.parameters, this.seat.row, this.terms.descriptor]
    if (fields.length < 2 || fields.length > 4 || !isEqual(heard, agreed)) {
      throw new Refusal('The server holds another vote than the one that this link is for.')
    }
    this.parameters = fields[1].raw
    return []
  }

  /** @param {import('./codec.js').Element[]} fields @param {Uint8Array} bytes @returns {Effect[]} */
  #onRequest(fields, bytes) {
    const [step, payload] = fields.map((field) => field.value)
    const { requests, reports } = this.past
    const isNext = [requests.length - 1, requests.length].includes(step) && step >= 0 && step < reports.length
    const isAnnounced = step > 0 && this.terms.steps[step - 1]?.isPublished
    if (fields.length !== 2 || !isNext || (payload !== null) !== Boolean(isAnnounced)) throw new Refusal(UNEXPECTED)
    const send = pack([TAG.report, step, new Raw(reports[step])])
    if (step === requests.length) {
      requests.push(bytes)
      return [{ keep: `request ${step}`, value: bytes }, { send }]
    }
    if (!isEqual(requests[step], bytes)) throw new Refusal('The server asks otherwise than it asked before.')
    return [{ send }]
  }

  /** @param {import('./codec.js').Element[]} fields @returns {Effect[]} */
  #onAcknowledgement(fields) {
    const [step, receipt = new Uint8Array()] = fields.map((field) => field.value)
    const isOurs = Number.isInteger(step) && step >= 0 && step < this.past.requests.length
    if (fields.length > 2 || !isOurs || !(receipt instanceof Uint8Array)) throw new Refusal(UNEXPECTED)
    const earlier = this.past.receipts.get(step)
    if (earlier) return []
    this.past.receipts.set(step, receipt)
    return [{ keep: `receipt ${step}`, value: receipt }]
  }

  /** @param {import('./codec.js').Element[]} fields @returns {Effect[]} */
  #onRelease(fields) {
    const [outcome, own = null, isLate = false] = fields.map((field) => field.value)
    const { requests, reports } = this.past
    const isComplete = requests.length === reports.length
    const isExpected = requests.length > 0 && (own === null || this.terms.hasOwn) && (isComplete || isLate === true)
    if (fields.length > 3 || !isExpected || outcome === null) throw new Refusal(UNEXPECTED)
    const heard = isComplete && this.parameters !== null
      ? transcriptOf(this.terms.words, {
        parameters: this.parameters,
        descriptor: this.terms.descriptor,
        requests: requests.map((request) => readMessage(request)[2].raw),
        release: fields[0].raw,
      })
      : null
    return [
      { release: fields[0].raw, own: own === null ? null : fields[1].raw, isLate, heard },
      { send: pack([TAG.acknowledgement, reports.length, new Uint8Array()]) },
    ]
  }
}

/** @param {string} reason @returns {Uint8Array} the `Abort` by which a party leaves */
export const abort = (reason) => pack([TAG.abort, reason, '', 0, 0, [], 0])

/**
 * Return what a party signs to show that a channel is its own.
 * @param {{ nonce: Uint8Array, terms: Uint8Array, place: number, origin: Uint8Array }} channel the server's challenge,
 *   the SHA-256 of the terms, the party's place, the SHA-256 of the page's origin
 * @returns {Uint8Array}
 */
export function signedBytes({ nonce, terms, place, origin }) {
  return concatenate(utf8('psephos web party 1\0'), nonce, terms, bigEndian(place, 8), origin)
}

/** @param {Uint8Array} bytes @returns {Uint8Array} the nonce that the server says first */
export function readChallenge(bytes) {
  const [{ value: tag }, ...fields] = readMessage(bytes)
  if (tag === TAG.abort) throw new SessionAborted(fields.map((field) => field.value))
  const [nonce] = fields.map((field) => field.value)
  if (tag !== TAG.challenge || !(nonce instanceof Uint8Array) || nonce.length !== 32) throw new Refusal(UNEXPECTED)
  return nonce
}

/**
 * Read which seat the server gives a party.
 * @param {Uint8Array} bytes
 * @param {number} place
 * @returns {Seat}
 */
export function readSeat(bytes, place) {
  const [{ value: tag }, ...fields] = readMessage(bytes)
  if (tag === TAG.abort) throw new SessionAborted(fields.map((field) => field.value))
  const [name, row] = fields.map((field) => field.value)
  if (tag !== TAG.seat || typeof name !== 'string' || !Array.isArray(row)) throw new Refusal(UNEXPECTED)
  return { place, name, row }
}
