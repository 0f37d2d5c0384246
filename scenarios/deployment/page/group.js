// Scalars modulo ℓ, and the group of that prime order on Ed25519's curve (RFC 8032), in exact integers.

import { fromBytes, toBytes } from './chacha.js'

export const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const PRIME = 2n ** 255n - 19n
/** @type {(number: bigint, modulus: bigint) => bigint} */
const modulo = (number, modulus) => ((number % modulus) + modulus) % modulus

/** @param {bigint} base @param {bigint} exponent @param {bigint} modulus @returns {bigint} */
function power(base, exponent, modulus) {
  let result = 1n
  for (; exponent; exponent >>= 1n, base = (base * base) % modulus) {
    if (exponent & 1n) result = (result * base) % modulus
  }
  return result
}

/** @param {bigint} number @param {bigint} modulus a prime @returns {bigint} */
const inverse = (number, modulus) => power(modulo(number, modulus), modulus - 2n, modulus)

const D = modulo(-121665n * inverse(121666n, PRIME), PRIME)
const ROOT_OF_MINUS_1 = power(2n, (PRIME - 1n) / 4n, PRIME)
const OF_ORDER_8 = 2707385501144840649318225287225658788936804267575313519463743609750303402022n
const SMALL = [0n, 1n, PRIME - 1n, OF_ORDER_8, PRIME - OF_ORDER_8]

/** A point as [X, Y, Z, T] with x = X/Z, y = Y/Z, x·y = T/Z. @typedef {bigint[]} Point */

/** @param {Point} one @param {Point} other @returns {Point} the sum, whatever the points are */
function add([x1, y1, z1, t1], [x2, y2, z2, t2]) {
  const a = ((y1 - x1) * (y2 - x2)) % PRIME
  const b = ((y1 + x1) * (y2 + x2)) % PRIME
  const c = (((2n * D * t1) % PRIME) * t2) % PRIME
  const d = (2n * z1 * z2) % PRIME
  return [(b - a) * (d - c), (d + c) * (b + a), (d - c) * (d + c), (b - a) * (b + a)]
    .map((coordinate) => modulo(coordinate, PRIME))
}

const ZERO = [0n, 1n, 1n, 0n]

/** @param {bigint} scalar below 2²⁵³ @param {Point} point @returns {Point} with as many additions whatever it is */
function multiply(scalar, point) {
  let sum = ZERO
  for (let bit = 0n; bit < 253n; bit++, point = add(point, point)) {
    const more = add(sum, point)
    if ((scalar >> bit) & 1n) sum = more
  }
  return sum
}

/** @param {Point} point @returns {Uint8Array} */
function encode([x, y, z]) {
  const factor = inverse(z, PRIME)
  return toBytes(((y * factor) % PRIME) | ((((x * factor) % PRIME) & 1n) << 255n))
}

/** @param {Uint8Array} bytes @returns {Point|null} of the curve, if it is one in its only form */
function decode(bytes) {
  const number = fromBytes(bytes)
  const [y, sign] = [BigInt.asUintN(255, number), number >> 255n]
  const [above, below] = [y * y - 1n, D * y * y + 1n].map((each) => modulo(each, PRIME))
  let x = power(above * inverse(below, PRIME), (PRIME + 3n) / 8n, PRIME)
  if ((x * x * below - above) % PRIME) x = (x * ROOT_OF_MINUS_1) % PRIME
  if (bytes.length !== 32 || y >= PRIME || (x * x * below - above) % PRIME || (!x && sign)) return null
  if ((x & 1n) !== sign) x = PRIME - x
  return [x, y, 1n, (x * y) % PRIME]
}

/** @param {Uint8Array} bytes @returns {Point|null} of the group of prime order, and not its zero */
function decodeMember(bytes) {
  const point = isOfLargeOrder(bytes) ? decode(bytes) : null
  const [x, y, z] = point ? multiply(ORDER, point) : [1n, 1n, 1n]
  return x === 0n && y === z ? point : null
}

/** @param {Uint8Array} bytes @returns {boolean} whether no point of this y has an order that divides 8 */
export function isOfLargeOrder(bytes) {
  const y = BigInt.asUintN(255, fromBytes(bytes))
  return y < PRIME && !SMALL.includes(y)
}

/** @param {Uint8Array} bytes @returns {boolean} whether they are a point of the group of prime order, not its zero */
export const isPoint = (bytes) => decodeMember(bytes) !== null

const BASE = /** @type {Point} */ (decode(toBytes((4n * inverse(5n, PRIME)) % PRIME)))

/** @param {bigint} scalar @returns {Uint8Array} so many times the base point */
export const base = (scalar) => encode(multiply(scalar, BASE))

/** @param {bigint} scalar @param {Uint8Array} bytes @returns {Uint8Array|null} null unless it is of prime order */
export function times(scalar, bytes) {
  const point = scalar ? decodeMember(bytes) : null
  return point && encode(multiply(scalar, point))
}

/** @param {Uint8Array|null} one @param {Uint8Array|null} other @returns {Uint8Array|null} null where one is no point */
export function plus(one, other) {
  const points = [one && decode(one), other && decode(other)]
  return points[0] && points[1] && encode(add(points[0], points[1]))
}

/** @param {Uint8Array} bytes @returns {bigint|null} the scalar that 32 bytes are; null where they are none below ℓ */
export function scalarOf(bytes) {
  const scalar = fromBytes(bytes)
  return bytes.length === 32 && scalar < ORDER ? scalar : null
}

/** @param {bigint} number @returns {bigint} modulo ℓ, from 0 */
export const reduce = (number) => modulo(number, ORDER)

/** @param {Uint8Array} point @returns {Uint8Array} as X25519 takes it: u = (1 + y)/(1 − y) */
export function exchangeable(point) {
  const y = BigInt.asUintN(255, fromBytes(point))
  return toBytes(modulo((1n + y) * inverse(1n - y, PRIME), PRIME))
}

/**
 * Return the private bytes by which X25519 multiplies by a scalar, or by its opposite, which has the same u: 8·t with t
 * from 2²⁵¹. There are some for all scalars but 2¹²⁵.
 * @param {bigint} scalar
 * @returns {Uint8Array}
 */
export function exchanging(scalar) {
  const eighth = reduce(scalar * inverse(8n, ORDER))
  return toBytes(8n * (eighth >= 2n ** 251n ? eighth : ORDER - eighth))
}

/** @param {bigint[]} terms coefficients, the constant one last @param {number} number @returns {bigint} the value */
export const valueAt = (terms, number) => terms.reduce((value, term) => (value * BigInt(number) + term) % ORDER, 0n)

/**
 * Return the constant term of the polynomial with these values.
 * @param {[number, bigint][]} values by distinct numbers
 * @returns {bigint}
 */
export function valueAtZero(values) {
  return reduce(values.reduce((sum, [number, value]) => {
    const others = values.map(([other]) => BigInt(other)).filter((other) => other !== BigInt(number))
    const above = others.reduce((product, other) => (product * other) % ORDER, 1n)
    const below = others.reduce((product, other) => reduce(product * (other - BigInt(number))), 1n)
    return sum + value * above * inverse(below, ORDER)
  }, 0n))
}
