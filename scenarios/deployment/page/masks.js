// A party's part of a masked vote, step by step: docs/distributed.md has the protocol, docs/masked-evidence.md the bytes.
//
// All secrets follow from one root: who has the root and what was heard says the same bytes again. A fault is a Refusal,
// and then nothing is sent any more. A box that does not hold what its dealer says is none: the party says whose it is.

import { blake2b } from './blake2.js'
import { fromBytes, keyStream, open, seal, toBytes } from './chacha.js'
import { Refusal, bigEndian, concatenate, hex, isEqual, pack, sha256, utf8 } from './codec.js'
import {
  base, exchangeable, exchanging, isOfLargeOrder, isPoint, plus, reduce, scalarOf, times, valueAt, valueAtZero,
} from './group.js'
import { MASKED } from './party.js'

const [KEY_BYTES, ENTROPY_BYTES, CHUNK] = [32, 48, 16]
const FIRST = utf8('fgr') // of a key, of a seed, and of what blinds both

/** @typedef {Uint8Array} Bytes */
/** K, Y and the signature on both. @typedef {Bytes[]} Keys */
/** Leaves, the combined value and the box of a dealer's entry for one holder. @typedef {[Bytes, Bytes, Bytes]} Entry */

/**
 * The rules of a masked vote, the same for all.
 * @typedef {object} Rules
 * @property {string[]} names
 * @property {Bytes[]} keys of signatures
 * @property {number} threshold
 * @property {number} width numbers of a row
 * @property {Bytes} digest of all of it
 */

/**
 * @param {{ session: string, phase: string, names: string[], keys: Bytes[], threshold: number, colluders: number,
 *   width: number, agreed: any[] }} given what was agreed: protocol, parameters as heard, session's name, roster's digest
 * @returns {Promise<Rules>}
 * @throws {Refusal} they do not fit one another
 */
export async function rulesOf({ session, phase, names, keys, threshold, colluders, width, agreed }) {
  const areDistinct = new Set(names).size === names.length && new Set(keys.map(hex)).size === names.length
  const fit = names.length + colluders < 2 * threshold && threshold <= names.length && colluders >= 0
  if (!areDistinct || keys.length !== names.length || !fit || !keys.every(isOfLargeOrder)) {
    throw new Refusal('The list of voters does not fit the terms.')
  }
  const numbers = [threshold, colluders, width, threshold].map(String)
  const texts = [session, phase, hex(await sha256(pack(agreed))), ...numbers, ...names, ...keys.map(hex)].map(utf8)
  const content = concatenate(...texts.flatMap((text) => [bigEndian(text.length, 8), text]))
  return { names, keys, threshold, width, digest: blake2b(content, 32, utf8('psephos-masking2')) }
}

// What messages hold, so that nothing else is taken for one.
/** @typedef {(value: any) => boolean} Form */
/** @type {(size: number) => Form} */
const bytes = (size) => (value) => value instanceof Uint8Array && value.length === size
/** @type {(form: Form) => Form} */
const list = (form) => (value) => Array.isArray(value) && value.every(form)
/** @type {(...forms: Form[]) => Form} */
const tuple = (...forms) => (value) =>
  Array.isArray(value) && value.length === forms.length && forms.every((form, at) => form(value[at]))
/** @type {Form} */
const place = (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 31
/** @type {Form} */
const text = (value) => typeof value === 'string'
const [ofKeys, ofPlaces] = [tuple(bytes(32), bytes(32), bytes(64)), tuple(list(place))]
const ofCheck = tuple(bytes(32), bytes(32), list(place), bytes(64), bytes(64))
const ofPath = tuple(bytes(32), bytes(32), bytes(16), list(tuple(place, bytes(32))), list(bytes(32)))
const ofEntry = tuple(bytes(48), bytes(32), (value) => value instanceof Uint8Array && value.length <= 112)
/** @type {Record<string, Form>} */
const ofEvidence = {
  kind: (value) => value === 'apart', place, keys: ofKeys, check: ofCheck, blinding: bytes(32), seed: bytes(32),
  leaves: list(tuple(place, bytes(48))), chunks: list(bytes(32)), is_of_seed: (value) => typeof value === 'boolean',
  shares: list(tuple(place, bytes(32))),
}
/** @type {Form} */
const isEvidence = (value) => value !== null && typeof value === 'object'
  && Object.keys(value).length === Object.keys(ofEvidence).length
  && Object.entries(ofEvidence).every(([name, form]) => Object.hasOwn(value, name) && form(value[name]))
/** What each step hears. */
export const FORMS = [tuple(text, list(text), list(bytes(32))), tuple(list(tuple(place, ofKeys))),
  tuple(list(tuple(place, bytes(112), bytes(16), bytes(16)))), tuple(list(tuple(place, ofCheck, ofPath, ofEntry))),
  ofPlaces, ofPlaces, tuple(list(tuple(place, bytes(64)))), tuple(list(isEvidence))]

/** @param {...Bytes} parts */
const hash = (...parts) => blake2b(concatenate(...parts))
/** @param {number} number */
const four = (number) => bigEndian(number, 4)
/** @param {number[]} places */
const isIncreasing = (places) => places.every((each, at) => at === 0 || each > places[at - 1])
/** @type {(one: [number, ...any], other: [number, ...any]) => number} */
const byPlace = ([one], [other]) => one - other

/** @param {Bytes|CryptoKey} secret @param {Bytes} info @returns {Promise<Bytes>} 32 bytes (HKDF with SHA-256) */
async function derive(secret, info) {
  const key = secret instanceof Uint8Array
    ? await crypto.subtle.importKey('raw', /** @type {BufferSource} */ (secret), 'HKDF', false, ['deriveBits']) : secret
  const how = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: /** @type {BufferSource} */ (info) }
  return new Uint8Array(await crypto.subtle.deriveBits(how, key, 8 * KEY_BYTES))
}

const PKCS8 = Uint8Array.of(48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 110, 4, 34, 4, 32) // before a private key of X25519

/**
 * Return a function to the secret that a private key shares with the public key of somebody else (X25519).
 * @param {bigint} scalar
 * @returns {Promise<(point: Bytes) => Promise<Bytes>>} it rejects points of low order
 */
export async function agreement(scalar) {
  const bits = /** @type {BufferSource} */ (concatenate(PKCS8, exchanging(scalar)))
  const key = await crypto.subtle.importKey('pkcs8', bits, 'X25519', false, ['deriveBits'])
  return async (point) => {
    const raw = /** @type {BufferSource} */ (exchangeable(point))
    const other = await crypto.subtle.importKey('raw', raw, 'X25519', false, [])
    const shared = new Uint8Array(await crypto.subtle.deriveBits({ name: 'X25519', public: other }, key, 256))
    if (shared.every((byte) => byte === 0)) throw new Refusal('a key is of low order')
    return shared
  }
}

/** @param {Bytes} key @param {Bytes} signature @param {Bytes} message @returns {Promise<boolean>} */
async function verify(key, signature, message) {
  const [raw, signed, said] = /** @type {BufferSource[]} */ ([key, signature, message])
  try {
    const imported = await crypto.subtle.importKey('raw', raw, 'Ed25519', false, ['verify'])
    return await crypto.subtle.verify('Ed25519', imported, signed, said)
  } catch {
    return false // no key
  }
}

/** @param {Bytes} about @param {(Bytes|null)[]} points @returns {bigint} a proof's challenge */
const challengeOf = (about, ...points) =>
  reduce(fromBytes(blake2b(concatenate(about, ...points.map((point) => /** @type {Bytes} */ (point))), 64)))

export class MaskingParty {
  /** @type {Map<number, Keys>} */
  #peers = new Map()
  /** @type {Map<number, Bytes>} what the keys of masks have in common with each neighbor's */
  #ofMasks = new Map()
  /** @type {Map<number, Bytes>} likewise of boxes */
  #ofBoxes = new Map()
  /** @type {Map<number, any[]>} boxes as they were heard: box, mark, α */
  #boxes = new Map()
  /** @type {Map<number, Bytes>} what each dealer has dealt this party */
  #dealt = new Map()
  /** @type {Map<number, [Bytes, Bytes]>} the digest of each dealer's entry, and its α */
  #entries = new Map()
  /** @type {number[]} */
  #doubts = []
  /** @type {number[]} */
  #excluded = []
  /** @type {number[]} */
  #survivors = []
  /** @type {Keys} */
  #keys = []
  /** @type {Bytes} */
  #ownDeal = new Uint8Array()
  /** @type {Bytes} */
  #held = new Uint8Array()
  /** @type {Bytes} */
  #root = new Uint8Array()
  /** @type {bigint[]} coefficients of the key, the key last */
  #keyTerms = []
  /** @type {bigint[]} */
  #seedTerms = []
  #secret = 0n // of the key of boxes

  /**
   * @param {Rules} rules
   * @param {number} place the party's
   * @param {CryptoKey} root of all secrets, for HKDF
   * @param {(message: Bytes) => Promise<Bytes>} sign
   */
  constructor(rules, place, root, sign) {
    this.rules = rules
    this.place = place
    this.root = root
    this.sign = sign
  }

  /**
   * Return the answer to a step, as MessagePack says it.
   * @param {number} step
   * @param {any} content that has the step's form
   * @param {bigint[]|null} row with its noise; null where it has left before, and the answer is not wanted
   * @returns {Promise<any>}
   * @throws {Refusal} what the server says cannot be right
   */
  answer(step, content, row) {
    const [first] = content
    switch (step) {
      case 0: return this.#sayKeys()
      case 1: return this.#deal(first.filter((/** @type {any} */ [other]) => other !== this.place))
      case 2: return this.#check(first)
      case 3: return this.#accuse(first, hash(pack(content)))
      case MASKED: return this.#mask(first, row)
      case 5: return this.#confirm(first)
      case 6: return this.#unmask(first)
      default: return this.#openLiars(first)
    }
  }

  /** @param {string} what @param {...number} places @returns {Bytes} what bytes are about */
  #about(what, ...places) {
    return concatenate(this.rules.digest, utf8(what), Uint8Array.of(0), ...places.map(four))
  }

  /** @param {string} what @param {number} who @param {Keys} keys @param {...Bytes} content @returns {Bytes} */
  #statement(what, who, [k, y], ...content) {
    return concatenate(this.#about(what, who), k, y, hash(...content))
  }

  /** @param {string} reason @param {number} [at] whose message is passed on @returns {Refusal} */
  #fault(reason, at) {
    const who = at === undefined ? 'The server is' : `The server or “${this.rules.names[at]}” is`
    return new Refusal(`${who} at fault: ${reason}.`)
  }

  /** @param {string} what @param {number} number @returns {Promise<bigint[]>} so many secret scalars */
  async #scalars(what, number) {
    const stream = keyStream(await derive(this.#root, this.#about(what, this.place)), ENTROPY_BYTES * number)
    return Array.from({ length: number }, (_, at) =>
      reduce(fromBytes(stream.subarray(ENTROPY_BYTES * at, ENTROPY_BYTES * (at + 1)))))
  }

  async #sayKeys() {
    const { threshold } = this.rules
    this.#root = await derive(this.root, this.#about('root', this.place))
    this.#keyTerms = await this.#scalars('coefficients for the key', threshold)
    this.#seedTerms = await this.#scalars('coefficients for the seed', threshold)
    this.#secret = (await this.#scalars('key of boxes', 1))[0]
    const points = [base(this.#keyTerms[threshold - 1]), base(this.#secret)]
    this.#keys = [...points, await this.sign(concatenate(this.#about('keys', this.place), ...points))]
    return this.#keys
  }

  /** @param {[number, Keys][]} peers */
  async #deal(peers) {
    const { keys, names, threshold } = this.rules
    const { place } = this
    this.#checkNeighbors('keys', peers.map(([other]) => other), names.map((_, each) => each))
    const seen = new Set(this.#keys.slice(0, 2).map(hex))
    for (const [other, [k, y, signature]] of peers) {
      if (!await verify(keys[other], signature, concatenate(this.#about('keys', other), k, y))) {
        throw this.#fault(`the keys of “${names[other]}” are not signed by it for this vote`, other)
      }
      for (const key of [k, y]) {
        if (seen.has(hex(key))) throw this.#fault(`the keys of “${names[other]}” are somebody’s already`, other)
        seen.add(hex(key))
      }
    }
    this.#peers = new Map(peers)
    const shared = await Promise.all([agreement(this.#keyTerms[threshold - 1]), agreement(this.#secret)])
    try {
      for (const [other, [k, y]] of peers) {
        this.#ofMasks.set(other, await shared[0](k))
        this.#ofBoxes.set(other, await shared[1](y))
      }
    } catch {
      throw this.#fault('a key of a neighbor is of low order')
    }
    const holders = /** @type {[number, Keys][]} */ ([...peers, [place, this.#keys]]).sort(byPlace)
    const digest = hash(...holders.flatMap(([holder, [k, y]]) => [four(holder), k, y]))
    const blinding = await this.#scalars(`blinding for ${hex(digest)}`, threshold)
    const values = holders.map(([holder]) =>
      [this.#keyTerms, this.#seedTerms, blinding].map((terms) => valueAt(terms, holder + 1)))
    const contents = values.map((each) => concatenate(...each.map((value) => toBytes(value))))
    const leaves = holders.map(([holder], at) => this.#leavesOf(place, holder, contents[at]))
    const points = [base(blinding[threshold - 1]), base(this.#seedTerms[threshold - 1])]
    const alpha = this.#alphaOf(place, this.#keys, points, leaves)
    const pieces = []
    const digests = []
    for (const [at, [holder, theirs]] of holders.entries()) {
      const box = holder === place ? new Uint8Array()
        : seal(await this.#keyOfBox(place, holder, this.#ofBoxes.get(holder), alpha), contents[at],
          this.#about('box', place, holder))
      /** @type {Entry} */
      const entry = [leaves[at], combinedOf(values[at], alpha), box]
      pieces.push([holder, ...entry])
      digests.push(/** @type {[number, Bytes]} */ ([holder, entryDigest(theirs, entry)]))
      if (holder === place) {
        this.#dealt.set(place, contents[at])
        this.#entries.set(place, [digests[at][1], alpha])
      }
    }
    const chunks = []
    for (let start = 0; start < digests.length; start += CHUNK) {
      chunks.push(digestOfChunk(digests.slice(start, start + CHUNK)))
    }
    this.#ownDeal = this.#dealDigest(place, this.#keys, points, alpha, chunks)
    return [...points, pieces]
  }

  /** @param {any[]} boxes */
  async #check(boxes) {
    const { names, threshold } = this.rules
    this.#checkNeighbors('boxes', boxes.map(([dealer]) => dealer), [...this.#peers.keys()])
    for (const [dealer, box, mark, alpha] of boxes) {
      this.#boxes.set(dealer, [box, mark, alpha])
      const key = await this.#keyOfBox(dealer, this.place, this.#ofBoxes.get(dealer), alpha)
      const content = open(key, box, this.#about('box', dealer, this.place))
      const entry = content && this.#entryOf(dealer, this.place, content, alpha, box)
      const digest = entry && entryDigest(this.#keys, entry)
      if (content && digest && isEqual(digest.slice(0, mark.length), mark)) {
        this.#dealt.set(dealer, content)
        this.#entries.set(dealer, [digest, alpha])
      }
    }
    this.#doubts = [...this.#boxes.keys()].filter((dealer) => !this.#dealt.has(dealer)).sort((one, other) => one - other)
    if (this.#doubts.length > names.length - threshold) {
      throw this.#fault(`the boxes of ${this.#doubts.length} voters do not open, and ${names.length - threshold} at most `
        + 'may lie')
    }
    const held = [...this.#entries].sort(byPlace).flatMap(([dealer, [digest, alpha]]) => [four(dealer), digest, alpha])
    this.#held = hash(this.#about('held', this.place), ...held)
    const [nonce] = await this.#scalars('nonce for the key of boxes', 1)
    const challenge = challengeOf(this.#about('possession', this.place), this.#keys[1], base(nonce))
    const possession = concatenate(toBytes(challenge), toBytes(reduce(nonce + challenge * this.#secret)))
    const parts = [this.#ownDeal, this.#held, ...this.#doubts.map(four)]
    const signature = await this.sign(this.#statement('check', this.place, this.#keys, ...parts))
    return [this.#ownDeal, this.#held, this.#doubts, signature, possession]
  }

  /** @param {any[]} disputes @param {Bytes} digest of the request */
  async #accuse(disputes, digest) {
    const places = disputes.map(([dealer]) => dealer)
    const areDoubted = places.every((dealer) => this.#doubts.includes(dealer))
    if (!places.length || new Set(places).size < places.length || !areDoubted) {
      throw this.#fault('the disputes are not of boxes that this device doubts, each once')
    }
    const nonces = await this.#scalars(`nonces for ${hex(digest)}`, places.length)
    const claims = []
    for (const [at, dispute] of disputes.entries()) claims.push(await this.#claim(dispute, nonces[at]))
    return [claims]
  }

  /** @param {any[]} dispute @param {bigint} nonce */
  async #claim([dealer, check, path, entry], nonce) {
    const { names } = this.rules
    const keys = /** @type {Keys} */ (this.#peers.get(dealer))
    const box = this.#boxes.get(dealer)
    if (!await this.#hasSigned(dealer, keys, check)) {
      throw this.#fault(`“${names[dealer]}” has not signed what it is said to have dealt`)
    }
    const digest = entryDigest(this.#keys, entry)
    const [blinding, seed, alpha, chunk, chunks] = path
    const isInChunk = chunk.some((/** @type {any} */ each) => isEqual(each, [this.place, digest]))
      && chunks.some((/** @type {Bytes} */ each) => isEqual(each, digestOfChunk(chunk)))
    if (!isInChunk || !isEqual(check[0], this.#dealDigest(dealer, keys, [blinding, seed], alpha, chunks))) {
      throw this.#fault(`what “${names[dealer]}” is said to have dealt is not what it has signed`)
    }
    if (!isEqual([entry[2], digest.slice(0, 16), alpha], box)) {
      throw this.#fault(`the box of “${names[dealer]}” was another one than it has signed`)
    }
    if (!hasPossession(check[4], keys[1], this.#about('possession', dealer))) {
      throw this.#fault(`“${names[dealer]}” has not proven that it has the secret of its key of boxes`)
    }
    const shared = /** @type {Bytes} */ (times(this.#secret, keys[1])) // of the group, since that was proven
    const about = this.#about('proof', dealer, this.place)
    const commitments = [base(nonce), times(nonce, keys[1])]
    const challenge = challengeOf(about, this.#keys[1], keys[1], shared, ...commitments)
    const proof = [shared, toBytes(challenge), toBytes(reduce(nonce + challenge * this.#secret))]
    const parts = [four(dealer), check[0], digest, ...proof]
    return [dealer, ...proof, await this.sign(this.#statement('accuse', this.place, this.#keys, ...parts))]
  }

  /** @param {number[]} excluded @param {bigint[]|null} row */
  async #mask(excluded, row) {
    const { names, threshold, width } = this.rules
    if (!isIncreasing(excluded) || excluded.some((other) => other >= names.length)) {
      throw this.#fault('those who are left out are not distinct voters of the list, in order')
    }
    if (excluded.includes(this.place)) throw this.#fault('this voter is left out, and is asked for its numbers')
    if (names.length - excluded.length < threshold) {
      throw this.#fault(`${names.length - excluded.length} voters are left, and ${threshold} have to be`)
    }
    const doubted = this.#doubts.find((dealer) => !excluded.includes(dealer))
    if (doubted !== undefined) {
      throw this.#fault(`“${names[doubted]}” is not left out, whose box does not hold what it should`)
    }
    const near = names.map((_, other) => other).filter((other) => other !== this.place && !excluded.includes(other))
    const stranger = near.find((other) => !this.#dealt.has(other))
    if (stranger !== undefined) throw this.#fault(`“${names[stranger]}” is not left out, and its box never came`)
    this.#excluded = excluded
    if (!row) return null
    if (row.length !== width) throw new RangeError('a row of another width')
    const total = BigInt64Array.from(row)
    /** @param {Bytes} secret @param {bigint} sign @param {Bytes} about */
    const addMask = async (secret, sign, about) => {
      const stream = keyStream(await derive(secret, about), 8 * width)
      const view = new DataView(stream.buffer)
      total.forEach((_, at) => { total[at] += sign * view.getBigInt64(8 * at, true) })
    }
    await addMask(toBytes(this.#seedTerms[threshold - 1]), 1n, this.#about('own mask'))
    for (const other of near) {
      const pair = [Math.min(this.place, other), Math.max(this.place, other)]
      const secret = /** @type {Bytes} */ (this.#ofMasks.get(other))
      await addMask(secret, this.place < other ? 1n : -1n, this.#about('mask of two', ...pair))
    }
    return total
  }

  /** @param {number[]} survivors */
  async #confirm(survivors) {
    const { names, threshold } = this.rules
    if (!isIncreasing(survivors) || survivors.some((each) => each >= names.length)) {
      throw this.#fault('the survivors are not distinct voters of the list, in order')
    }
    if (!survivors.includes(this.place)) throw this.#fault('the survivors lack this voter, whose numbers it has sent')
    if (survivors.length < threshold) {
      throw this.#fault(`${survivors.length} voters survived, and at least ${threshold} have to`)
    }
    const stranger = survivors.find((each) => this.#excluded.includes(each))
    if (stranger !== undefined) {
      throw this.#fault(`“${names[stranger]}” is said to have survived, and was left out before`)
    }
    this.#survivors = survivors
    return [await this.sign(this.#survivorsStatement())]
  }

  /** @param {[number, Bytes][]} signatures */
  async #unmask(signatures) {
    const { keys, names, threshold } = this.rules
    const signers = new Set(signatures.map(([signer]) => signer))
    if (signers.size < signatures.length) throw this.#fault('the signatures on the survivors are not of distinct voters')
    for (const [signer, signature] of signatures) {
      if (!this.#survivors.includes(signer)) throw this.#fault('a voter has signed that is said not to have survived')
      if (!await verify(keys[signer], signature, this.#survivorsStatement())) {
        throw this.#fault(`“${names[signer]}” has not signed that these survived`, signer)
      }
    }
    if (signers.size < threshold) {
      throw this.#fault(`${signers.size} voters have signed who survived, and ${threshold} have to`)
    }
    const shares = [...this.#dealt].sort(byPlace).filter(([dealer]) => !this.#excluded.includes(dealer))
      .map(([dealer, content]) => {
        const isOfSeed = this.#survivors.includes(dealer) // never both: that would open a row
        return [dealer, isOfSeed, content.slice(isOfSeed ? 32 : 0, isOfSeed ? 64 : 32)]
      })
    const parts = shares.flatMap(([dealer, isOfSeed, share]) =>
      [four(Number(dealer)), Uint8Array.of(Number(isOfSeed)), /** @type {Bytes} */ (share)])
    return [shares, await this.sign(this.#statement('unmask', this.place, this.#keys, this.#held, ...parts))]
  }

  /** @param {any[]} evidence proofs that dealers have lied */
  async #openLiars(evidence) {
    const liars = evidence.map((each) => each.place)
    const areDealers = liars.every((liar) =>
      liar !== this.place && this.#dealt.has(liar) && !this.#excluded.includes(liar))
    if (!liars.length || new Set(liars).size < liars.length || !areDealers) {
      throw this.#fault('those of whom all is to be told are not dealers of what this device holds, each once')
    }
    for (const each of evidence) {
      if (!await this.#isProven(each)) {
        throw this.#fault(`it is not proven that “${this.rules.names[each.place]}” has lied, of whom all is to be told`)
      }
    }
    const values = liars.map((liar) => [liar, /** @type {Bytes} */ (this.#dealt.get(liar))])
    const parts = values.flatMap(([liar, content]) => [four(Number(liar)), /** @type {Bytes} */ (content)])
    return [values, await this.sign(this.#statement('open', this.place, this.#keys, this.#held, ...parts))]
  }

  /**
   * Return whether a dealer has signed shares that are of no secret of its keys.
   * @param {any} evidence
   * @returns {Promise<boolean>}
   */
  async #isProven({ place: dealer, keys, check, blinding, seed, leaves, chunks, is_of_seed: isOfSeed, shares }) {
    const { keys: signatureKeys, names, threshold } = this.rules
    const [k, y, signature] = keys
    if (!await verify(signatureKeys[dealer], signature, concatenate(this.#about('keys', dealer), k, y))) return false
    if (isEqual(k, y) || !isPoint(k) || !isPoint(y)) return true
    const holders = leaves.map((/** @type {any} */ [holder]) => holder)
    const areHolders = isIncreasing(holders) && holders.includes(dealer) && holders[holders.length - 1] < names.length
    const all = leaves.map((/** @type {any} */ each) => each[1])
    const alpha = this.#alphaOf(dealer, keys, [blinding, seed], all)
    const digest = this.#dealDigest(dealer, keys, [blinding, seed], alpha, chunks)
    if (!areHolders || !isEqual(digest, check[0]) || !await this.#hasSigned(dealer, keys, check)) return false
    /** @type {Map<number, bigint>} */
    const values = new Map()
    const first = isOfSeed ? 16 : 0
    for (const [holder, share] of shares) {
      const at = holders.indexOf(holder)
      const leaf = this.#leaf(dealer, holder, Number(isOfSeed), share)
      const scalar = scalarOf(share)
      if (at < 0 || scalar === null || !isEqual(leaf, all[at].slice(first, first + 16))) return false
      values.set(holder + 1, scalar)
    }
    if (values.size < threshold) return false
    const secret = valueAtZero([...values].sort(byPlace).slice(0, threshold))
    return secret === 0n || !isEqual(base(secret), isOfSeed ? seed : k)
  }

  /** @param {number} dealer @param {Keys} keys @param {any[]} check @returns {Promise<boolean>} */
  #hasSigned(dealer, keys, [deal, held, doubted, signature]) {
    const message = this.#statement('check', dealer, keys, deal, held, ...doubted.map(four))
    return verify(this.rules.keys[dealer], signature, message)
  }

  #survivorsStatement() {
    const keys = this.#survivors.flatMap((each) => (this.#peers.get(each) ?? this.#keys).slice(0, 2))
    const sets = [this.#about('survivors', ...this.#survivors), this.#about('excluded', ...this.#excluded)]
    return hash(...sets, ...keys)
  }

  /** @param {string} what @param {number[]} places @param {number[]} allowed */
  #checkNeighbors(what, places, allowed) {
    const { threshold } = this.rules
    if (new Set(places).size < places.length) throw this.#fault(`the ${what} of a voter came twice`)
    if (places.some((each) => each === this.place || !allowed.includes(each))) {
      throw this.#fault(`${what} came of somebody who is on no list`)
    }
    if (places.length + 1 < threshold) {
      throw this.#fault(`${what} came of ${places.length} others, and at least ${threshold - 1} are needed`)
    }
  }

  /** @param {number} dealer @param {number} holder @param {number} at which polynomial @param {Bytes} value */
  #leaf(dealer, holder, at, value) {
    return blake2b(concatenate(this.#about('leaf', dealer, holder + 1), FIRST.slice(at, at + 1), value), 16)
  }

  /** @param {number} dealer @param {number} holder @param {Bytes} content @returns {Bytes} */
  #leavesOf(dealer, holder, content) {
    return concatenate(...[0, 1, 2].map((at) =>
      this.#leaf(dealer, holder, at, content.slice(32 * at, 32 * (at + 1)))))
  }

  /** @param {number} dealer @param {Keys} keys @param {Bytes[]} points R and G @param {Bytes[]} leaves */
  #alphaOf(dealer, [k, y], points, leaves) {
    return blake2b(concatenate(this.#about('alpha', dealer), k, y, ...points, ...leaves), 16)
  }

  /** @param {number} dealer @param {Keys} keys @param {Bytes[]} points @param {Bytes} alpha @param {Bytes[]} chunks */
  #dealDigest(dealer, [k, y], points, alpha, chunks) {
    return hash(this.#about('deal', dealer), k, y, ...points, alpha, ...chunks)
  }

  /** @param {number} dealer @param {number} holder @param {Bytes|undefined} secret @param {Bytes} alpha */
  #keyOfBox(dealer, holder, secret, alpha) {
    return derive(/** @type {Bytes} */ (secret), concatenate(this.#about('key of a box', dealer, holder), alpha))
  }

  /**
   * @param {number} dealer @param {number} holder @param {Bytes} content @param {Bytes} alpha @param {Bytes} box
   * @returns {Entry|null} null where a box holds no three scalars
   */
  #entryOf(dealer, holder, content, alpha, box) {
    const values = [0, 1, 2].map((at) => scalarOf(content.slice(32 * at, 32 * (at + 1))))
    if (content.length !== 96 || values.includes(null)) return null
    const scalars = values.map((value) => value ?? 0n)
    return [this.#leavesOf(dealer, holder, content), combinedOf(scalars, alpha), box]
  }
}

/** @param {bigint[]} values of f, g and r @param {Bytes} alpha @returns {Bytes} r + α·f + α²·g */
function combinedOf([key, seed, blinding], alpha) {
  const factor = fromBytes(alpha)
  return toBytes(reduce(blinding + factor * (key + factor * seed)))
}

/** @param {Keys} holder @param {Entry} entry @returns {Bytes} */
const entryDigest = ([k, y], [leaves, combined, box]) => hash(k, y, box, leaves, combined)

/** @param {[number, Bytes][]} chunk @returns {Bytes} */
const digestOfChunk = (chunk) => hash(...chunk.flatMap(([holder, entry]) => [four(holder), entry]))

/** @param {Bytes} proof @param {Bytes} key @param {Bytes} about @returns {boolean} whether who made it has the secret */
function hasPossession(proof, key, about) {
  const [challenge, response] = [scalarOf(proof.slice(0, 32)), scalarOf(proof.slice(32))]
  if (!challenge || !response) return false
  const commitment = plus(base(response), times(reduce(-challenge), key))
  return commitment !== null && challenge === challengeOf(about, key, commitment)
}
