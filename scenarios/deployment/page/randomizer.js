// k-RR, drawn in integers from the browser's entropy: no float decides.
//
// Privacy: epsilon-LDP, replace-one, unit: the value. Exact: ln(p/q) <= epsilon.
// Source: Warner (1965); Wang, Wu and Hu (2016), as docs/wire.md has it under "Phases, rows and grids".

/**
 * A law of k-RR.
 * @typedef {{ epsilon: number, choices: number }} Law
 */

/** @param {number} number a double from 0 @returns {bigint} the same in units of 2**-1074 */
export function exact(number) {
  const [bits] = new BigUint64Array(Float64Array.of(number).buffer)
  const exponent = bits >> 52n
  const fraction = bits & ((1n << 52n) - 1n)
  return exponent ? (fraction | (1n << 52n)) << (exponent - 1n) : fraction
}

/**
 * Return the probability by which a value is kept: the double by which the server inverts, a multiple of 2**-64.
 * @param {Law} law
 * @returns {number}
 */
export function keepProbability({ epsilon, choices }) {
  const one = 1n << 320n
  const x = exact(epsilon) >> 754n // in units of 2**-320, as what follows
  let sum = 0n
  let term = one
  for (let n = 1n; term; n++) { // e**-x by its series
    sum += term
    term = (-term * x) / (n * one)
  }
  const keep = Float64Array.of(1 / (1 + (choices - 1) * (Number(sum) / 2 ** 320)))
  new BigUint64Array(keep.buffer)[0] -= 4n // doubles, more than the rounding before
  return keep[0]
}

/**
 * Return a uniform integer in [0, bound) from the browser's entropy, by rejection.
 * @param {bigint} bound up to 2**64
 * @returns {bigint}
 */
export function drawBelow(bound) {
  const all = 1n << 64n
  for (;;) {
    const [drawn] = crypto.getRandomValues(new BigUint64Array(1))
    if (drawn < all - (all % bound)) return drawn % bound
  }
}

/**
 * Draw the report of a value.
 * @param {number} value in [0, choices)
 * @param {Law} law
 * @param {(bound: bigint) => bigint} [below]
 * @returns {number}
 */
export function respond(value, law, below = drawBelow) {
  if (!(Number.isInteger(value) && value >= 0 && value < law.choices)) throw new RangeError('a value is out of its range')
  if (below(1n << 64n) < BigInt(keepProbability(law) * 2 ** 64)) return value
  const lie = Number(below(BigInt(law.choices - 1)))
  return lie >= value ? lie + 1 : lie
}

/**
 * Return the report that a simulation draws of a value, by its uniform: for test vectors alone.
 * @param {number} value
 * @param {Law} law
 * @param {number} uniform a double in [0, 1)
 * @returns {number}
 */
export function respondByUniform(value, law, uniform) {
  const keep = keepProbability(law)
  if (uniform < keep) return value
  const lie = Math.min(Math.trunc((uniform - keep) / ((1 - keep) / (law.choices - 1))), law.choices - 2)
  return lie >= value ? lie + 1 : lie
}
