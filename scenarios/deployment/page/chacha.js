// ChaCha20 and ChaCha20-Poly1305 (RFC 8439), which browsers do not have.
//
// The nonce is 0 by default: each key of ours is derived for one box, or for one stream.

import { concatenate } from './codec.js'

const SIGMA = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574]
const QUADS = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
  [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]]
const NONCE = new Uint8Array(12)
const TAG_BYTES = 16
const PRIME = (1n << 130n) - 5n
const CLAMP = 0x0ffffffc0ffffffc0ffffffc0fffffffn

/** @param {Uint8Array} bytes @returns {bigint} the first byte is the least */
export function fromBytes(bytes) {
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).reverse()
  return BigInt(`0x${digits.join('') || '0'}`)
}

/** @param {bigint} number from 0 @param {number} [size] @returns {Uint8Array} the first byte is the least */
export function toBytes(number, size = 32) {
  const digits = number.toString(16).padStart(2 * size, '0')
  return Uint8Array.from({ length: size }, (_, at) => parseInt(digits.slice(2 * (size - at - 1), 2 * (size - at)), 16))
}

/**
 * Return bytes of the generator.
 * @param {Uint8Array} key 32 bytes
 * @param {number} length
 * @param {number} [counter] of the first block
 * @param {Uint8Array} [nonce] 12 bytes
 * @returns {Uint8Array}
 */
export function keyStream(key, length, counter = 0, nonce = NONCE) {
  const words = new Uint32Array(16)
  words.set(SIGMA)
  const view = (/** @type {Uint8Array} */ bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at < 8; at++) words[4 + at] = view(key).getUint32(4 * at, true)
  for (let at = 0; at < 3; at++) words[13 + at] = view(nonce).getUint32(4 * at, true)
  const stream = new DataView(new ArrayBuffer(Math.ceil(length / 64) * 64))
  for (let block = 0; 64 * block < length; block++) {
    words[12] = counter + block
    const work = words.slice()
    for (let round = 0; round < 10; round++) for (const quad of QUADS) mix(work, quad)
    work.forEach((word, at) => stream.setUint32(64 * block + 4 * at, word + words[at], true))
  }
  return new Uint8Array(stream.buffer, 0, length)
}

/** @param {Uint32Array} work which wraps around @param {number[]} quad */
function mix(work, [a, b, c, d]) {
  const turn = (/** @type {number} */ word, /** @type {number} */ bits) => (word << bits) | (word >>> (32 - bits))
  work[a] += work[b]
  work[d] = turn(work[d] ^ work[a], 16)
  work[c] += work[d]
  work[b] = turn(work[b] ^ work[c], 12)
  work[a] += work[b]
  work[d] = turn(work[d] ^ work[a], 8)
  work[c] += work[d]
  work[b] = turn(work[b] ^ work[c], 7)
}

/** @param {Uint8Array} key 32 bytes @param {Uint8Array} message @returns {Uint8Array} Poly1305's tag, 16 bytes */
export function poly1305(key, message) {
  const factor = fromBytes(key.subarray(0, 16)) & CLAMP
  let sum = 0n
  for (let at = 0; at < message.length; at += 16) {
    const part = message.subarray(at, at + 16)
    sum = ((sum + fromBytes(part) + (1n << BigInt(8 * part.length))) * factor) % PRIME
  }
  return toBytes(BigInt.asUintN(128, sum + fromBytes(key.subarray(16))), TAG_BYTES)
}

/** @param {Uint8Array} one @param {Uint8Array} other of the same length @returns {Uint8Array} */
const xor = (one, other) => one.map((byte, at) => byte ^ other[at])

/** @param {Uint8Array} key @param {Uint8Array} hidden @param {Uint8Array} about @param {Uint8Array} nonce */
function tagOf(key, hidden, about, nonce) {
  const padded = [about, hidden].map((part) => concatenate(part, new Uint8Array((16 - (part.length % 16)) % 16)))
  const sizes = [about, hidden].map((part) => toBytes(BigInt(part.length), 8))
  return poly1305(keyStream(key, 32, 0, nonce), concatenate(...padded, ...sizes))
}

/**
 * Seal a box.
 * @param {Uint8Array} key 32 bytes, for this box alone
 * @param {Uint8Array} content
 * @param {Uint8Array} about what the box is about, which whoever opens it has to know
 * @param {Uint8Array} [nonce]
 * @returns {Uint8Array}
 */
export function seal(key, content, about, nonce = NONCE) {
  const hidden = xor(content, keyStream(key, content.length, 1, nonce))
  return concatenate(hidden, tagOf(key, hidden, about, nonce))
}

/**
 * Open a box.
 * @param {Uint8Array} key
 * @param {Uint8Array} box
 * @param {Uint8Array} about
 * @param {Uint8Array} [nonce]
 * @returns {Uint8Array|null} its content; null where the key does not open it
 */
export function open(key, box, about, nonce = NONCE) {
  if (box.length < TAG_BYTES) return null
  const hidden = box.subarray(0, -TAG_BYTES)
  const difference = xor(box.subarray(-TAG_BYTES), tagOf(key, hidden, about, nonce))
  return difference.reduce((all, byte) => all | byte, 0) ? null : xor(hidden, keyStream(key, hidden.length, 1, nonce))
}
