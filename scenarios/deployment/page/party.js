// A party of a vote as a state machine: it takes messages and returns effects, and never waits, stores or sends.

import {
  Raw, Refusal, TAG, WIRE_VERSION, bigEndian, concatenate, hex, isEqual, pack, packResidues, readMessage, sha256,
  transcriptOf, utf8,
} from './codec.js'

/** @typedef {import('./terms.js').AnyTerms} Terms */

/** The steps of a masked vote. */
export const STEPS = ['keys', 'shares', 'check', 'accuse', 'masked', 'confirm', 'unmask', 'open']
export const [MASKED, UNMASK] = [4, 6]
/** Those that are left out unless somebody has lied. */
export const IN_DISPUTE = [3, 7]
const OWN = [2, 3, 7] // whose question is for one party alone


/**
 * A party's seat: its place in the roster, and what the server says of it.
 * @typedef {{ place: number, name: string, row: number[] }} Seat
 */

/**
 * What a party has kept of its conversation: the report of each step, drawn before the first is sent, but of a masked
 * vote as it is asked; by step the requests that were answered and the receipts that came back.
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

/**
 * What a party of a masked vote alone has: the root of its secrets, its key of signatures, what signs by it, and the row
 * with its share of noise until it is masked.
 * @typedef {{ root: CryptoKey, key: Uint8Array, sign: (message: Uint8Array) => Promise<Uint8Array>,
 *   row: bigint[]|null }} Secrets
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
  /** @type {import('./masks.js').MaskingParty|null} */
  #masking = null

  /**
   * @param {Terms} terms
   * @param {Seat} seat
   * @param {Past} past
   * @param {Secrets|null} [secrets] of a masked vote
   */
  constructor(terms, seat, past, secrets = null) {
    this.terms = terms
    this.seat = seat
    this.past = past
    this.secrets = secrets
    this.descriptor = terms.descriptor
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
   * Take a message of the server's, once what the one before asked for is done.
   * @param {Uint8Array} bytes
   * @returns {Promise<Effect[]>}
   * @throws {SessionAborted} it ends the session
   * @throws {Refusal} it is at fault: leave by an `Abort` with the error's message
   */
  async receive(bytes) {
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

  /** @param {import('./codec.js').Element[]} fields @returns {Promise<Effect[]>} */
  async #onWelcome(fields) {
    const [version, parameters, row = [], descriptor = ['', '', 0]] = fields.map((field) => field.value)
    const { masked } = this.terms
    const [id, roster, until] = this.terms.descriptor
    // Of a masked vote the terms have the list of voters without their keys, which are made later.
    const agreed = [WIRE_VERSION, this.terms.parameters, this.seat.row, [id, masked ? descriptor[1] : roster, until]]
    if (fields.length < 2 || fields.length > 4 || !isEqual([version, parameters, row, descriptor], agreed)) {
      throw new Refusal('The server holds another vote than the one that this link is for.')
    }
    this.descriptor = descriptor
    this.parameters = fields[1].raw
    const { requests } = this.past
    for (const step of requests.keys()) {
      if (masked && requests[step]) await this.#say(step, readMessage(requests[step]).slice(2), null)
    }
    return []
  }

  /** @param {import('./codec.js').Element[]} fields @param {Uint8Array} bytes @returns {Promise<Effect[]>} */
  async #onRequest(fields, bytes) {
    const [step, payload] = fields.map((field) => field.value)
    const { requests, reports } = this.past
    const { masked, steps } = this.terms
    const next = requests.length
    const isPassedOver = step > next && step < STEPS.length
      && STEPS.slice(next, step).every((_, at) => IN_DISPUTE.includes(next + at))
    if (!Number.isInteger(step) || step < 0 || !(step === next - 1 || step === next || (masked && isPassedOver))) {
      throw new Refusal(UNEXPECTED)
    }
    if (step === next - 1) {
      if (!isEqual(requests[step], bytes)) throw new Refusal('The server asks otherwise than it asked before.')
      return [{ send: pack([TAG.report, step, new Raw(reports[step])]) }]
    }
    /** @type {Effect} */
    let kept = { keep: `request ${step}`, value: bytes }
    if (masked) {
      const answer = await this.#say(step, fields.slice(1), this.secrets?.row ?? null)
      reports[step] = step === MASKED ? packResidues(answer) : pack(answer)
      kept = { keep: `answer ${step}`, value: [bytes, reports[step]] }
    } else {
      const isAnnounced = step > 0 && steps[step - 1]?.isPublished
      if (fields.length !== 2 || step >= reports.length || (payload !== null) !== Boolean(isAnnounced)) {
        throw new Refusal(UNEXPECTED)
      }
    }
    requests[step] = bytes
    return [kept, { send: pack([TAG.report, step, new Raw(reports[step])]) }]
  }

  /**
   * Return the answer to a step of a masked vote.
   * @param {number} step
   * @param {import('./codec.js').Element[]} fields of the request behind its step
   * @param {bigint[]|null} row null where the answer is not wanted
   * @returns {Promise<any>}
   */
  async #say(step, fields, row) {
    const [payload, own = null] = fields.map((field) => field.value)
    const [content, empty] = OWN.includes(step) ? [own, payload] : [payload, own]
    if (fields.length > 2 || empty !== null || !this.terms.masked?.FORMS[step]?.(content)) throw new Refusal(UNEXPECTED)
    if (step === 0) this.#masking = await this.#begin(content)
    if (!this.#masking) throw new Refusal(UNEXPECTED)
    return this.#masking.answer(step, content, row)
  }

  /** @param {[string, string[], Uint8Array[]]} content the list of voters, with their keys */
  async #begin([others, names, keys]) {
    const { descriptor, masked, words } = this.terms
    const { name, place } = this.seat
    const digest = hex(await sha256(pack([others, names, keys])))
    const isOurs = others === descriptor[1] && names[place] === name && names.length === masked?.parties
    if (!this.secrets || !masked || !isOurs || digest !== this.descriptor[1] || !isEqual(keys[place], this.secrets.key)) {
      throw new Refusal('The server is at fault: its list of voters is not the one of this vote, or has another device '
        + 'in place of this one.')
    }
    const agreed = [words[1], this.parameters, words[0], digest]
    const rules = await masked.rulesOf({ ...masked, session: descriptor[0], names, keys, agreed })
    return new masked.MaskingParty(rules, place, this.secrets.root, this.secrets.sign)
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
    const { masked, words } = this.terms
    const isComplete = masked ? requests.length > UNMASK : requests.length === reports.length
    const isExpected = requests.length > 0 && (own === null || this.terms.hasOwn) && (isComplete || isLate === true)
    if (fields.length > 3 || !isExpected || outcome === null) throw new Refusal(UNEXPECTED)
    /** @type {Uint8Array[]} by step: what everybody was told */
    const told = []
    requests.forEach((request, step) => {
      if (!masked || !IN_DISPUTE.includes(step)) told[step] = readMessage(request)[2].raw
    })
    const { descriptor, parameters } = this
    const heard = isComplete && parameters !== null
      ? transcriptOf(words, { parameters, descriptor, requests: told, release: fields[0].raw }) : null
    return [
      { release: fields[0].raw, own: own === null ? null : fields[1].raw, isLate, heard },
      { send: pack([TAG.acknowledgement, masked ? STEPS.length : reports.length, new Uint8Array()]) },
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
