// BLAKE2b (RFC 7693), unkeyed, which browsers do not have.

const IV = BigUint64Array.of(
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n)
const ORDERS = ['0123456789abcdef', 'ea489fd61c02b753', 'b8c052fdae367194', '7931dcbe265a40f8', '905724afe1bc683d',
  '2c6a0b834d75fe19', 'c51fed4a0763928b', 'db7ec13950f4862a', '6fe9b308c2d714a5', 'a2847615fb9e3cd0',
].map((row) => Array.from(row, (digit) => parseInt(digit, 16)))
const QUADS = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
  [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]]
const BLOCK = 128

/**
 * Return a digest.
 * @param {Uint8Array} bytes
 * @param {number} [size] of the digest, in bytes, up to 64
 * @param {Uint8Array} [person] 16 bytes: the purpose
 * @returns {Uint8Array}
 */
export function blake2b(bytes, size = 32, person = new Uint8Array(16)) {
  const state = IV.slice()
  const purpose = new DataView(person.buffer, person.byteOffset, 16)
  state[0] ^= BigInt(0x01010000 | size)
  state[6] ^= purpose.getBigUint64(0, true)
  state[7] ^= purpose.getBigUint64(8, true)
  const whole = new Uint8Array(Math.max(Math.ceil(bytes.length / BLOCK), 1) * BLOCK)
  whole.set(bytes)
  const view = new DataView(whole.buffer)
  const words = new BigUint64Array(16)
  const work = new BigUint64Array(16)
  for (let start = 0; start < whole.length; start += BLOCK) {
    for (let at = 0; at < 16; at++) words[at] = view.getBigUint64(start + 8 * at, true)
    work.set(state)
    work.set(IV, 8)
    work[12] ^= BigInt(Math.min(start + BLOCK, bytes.length))
    if (start + BLOCK >= whole.length) work[14] = ~work[14]
    for (let round = 0; round < 12; round++) {
      const order = ORDERS[round % 10]
      QUADS.forEach((quad, at) => mix(work, quad, words[order[2 * at]], words[order[2 * at + 1]]))
    }
    for (let at = 0; at < 8; at++) state[at] ^= work[at] ^ work[at + 8]
  }
  const digest = new DataView(new ArrayBuffer(64))
  state.forEach((word, at) => digest.setBigUint64(8 * at, word, true))
  return new Uint8Array(digest.buffer, 0, size).slice()
}

/** @param {BigUint64Array} work which wraps around @param {number[]} quad @param {bigint} one @param {bigint} other */
function mix(work, [a, b, c, d], one, other) {
  work[a] = work[a] + work[b] + one
  work[d] = turn(work[d] ^ work[a], 32n)
  work[c] += work[d]
  work[b] = turn(work[b] ^ work[c], 24n)
  work[a] = work[a] + work[b] + other
  work[d] = turn(work[d] ^ work[a], 16n)
  work[c] += work[d]
  work[b] = turn(work[b] ^ work[c], 63n)
}

/** @param {bigint} word @param {bigint} bits @returns {bigint} turned to the right; what is above 64 bits falls off */
const turn = (word, bits) => (word >> bits) | (word << (64n - bits))
