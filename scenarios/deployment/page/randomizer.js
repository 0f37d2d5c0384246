// k-RR, flips of a given probability, and laws given as tables of integers, drawn from the browser's entropy: no float decides.
//
// Privacy: epsilon-LDP, replace-one, unit: the value. Exact: ln(p/q) <= epsilon, for each two values and each report.
// Source: Warner (1965); Wang, Wu and Hu (2016), as docs/wire.md has it under "Phases, rows and grids".

/**
 * A law: k-RR of so many choices, the same by the probability of a flip to any of the others, at least 2**-44, or a
 * table of masses, a row for each value, a column for each report. A mass is an integer from 0, and those of a row sum
 * to 2**53.
 * @typedef {{ epsilon: number, choices: number, flip?: number, masses?: number[][] }} Law
 */

const TOTAL_MASS = 1n << 53n
const UNIT_BITS = 320n // of what is computed of e**-epsilon

/** @param {number} number a double from 0 @returns {bigint} the same in units of 2**-1074 */
export function exact(number) {
  const [bits] = new BigUint64Array(Float64Array.of(number).buffer)
  const exponent = bits >> 52n
  const fraction = bits & ((1n << 52n) - 1n)
  return exponent ? (fraction | (1n << 52n)) << (exponent - 1n) : fraction
}

/** @param {number} epsilon @returns {bigint} e**-epsilon by its series, in units of 2**-320, to 2**-256 */
function decay(epsilon) {
  const one = 1n << UNIT_BITS
  const x = exact(epsilon) >> (1074n - UNIT_BITS)
  let sum = 0n
  let term = one
  for (let n = 1n; term; n++) {
    sum += term
    term = (-term * x) / (n * one)
  }
  return sum
}

/**
 * Return the probability by which k-RR keeps a value: the double by which the server inverts, a multiple of 2**-64.
 * @param {Law} law
 * @returns {number}
 */
export function keepProbability({ epsilon, choices }) {
  const keep = Float64Array.of(1 / (1 + (choices - 1) * (Number(decay(epsilon)) / 2 ** 320)))
  new BigUint64Array(keep.buffer)[0] -= 4n // doubles, more than the rounding before
  return keep[0]
}

/**
 * Return whether a law costs no more than it says. A table has rows of one length that sum to 2**53, and in no column a
 * mass of more than e**epsilon times another; what is flipped stays the likeliest report.
 * @param {Law} law
 * @returns {boolean}
 */
export function isPrivate({ epsilon, choices, flip, masses = [] }) {
  const least = decay(epsilon) + (1n << 64n)
  /** @type {(one: bigint, other: bigint) => boolean} */
  const isNear = (one, other) => one << UNIT_BITS >= other * least
  if (flip !== undefined) {
    const [lies, others] = [exact(flip), BigInt(choices - 1)]
    const isFlip = flip >= 2 ** -44 && flip <= (choices - 1) / choices
    return isFlip && isNear(lies, (exact(1) - lies) * others)
  }
  const rows = masses.map((row) => row.map(BigInt))
  const isTable = rows.length === choices && rows.every((row) => row.length === rows[0].length
    && row.every((mass) => mass >= 0n) && row.reduce((sum, mass) => sum + mass, 0n) === TOTAL_MASS)
  return isTable && rows.every((row) => rows.every((other) => row.every((mass, report) => isNear(mass, other[report]))))
}

/** @param {Law} law @returns {number} how many reports there are, from 0 on */
export const numReports = ({ choices, masses }) => (masses ? masses[0].length : choices)

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
  const isValue = Number.isInteger(value) && value >= 0 && value < law.choices
  if (!isValue) throw new RangeError('a value is out of its range')
  if (law.masses) return reportAt(law.masses[value], below(TOTAL_MASS))
  const keeps = law.flip === undefined ? below(1n << 64n) < BigInt(keepProbability(law) * 2 ** 64)
    : (below(1n << 64n) << 64n | below(1n << 64n)) >= exact(law.flip) >> 946n // in units of 2**-128
  if (keeps) return value
  const lie = Number(below(BigInt(law.choices - 1)))
  return lie >= value ? lie + 1 : lie
}

/** @param {number[]} row masses @param {bigint} place of 2**53 equally likely ones @returns {number} */
function reportAt(row, place) {
  let report = 0
  for (let rest = place - BigInt(row[0]); rest >= 0n; rest -= BigInt(row[report])) report++
  return report
}

/**
 * Return the report that a simulation draws of a value, by its uniform: for test vectors alone.
 * @param {number} value
 * @param {Law} law
 * @param {number} uniform a double in [0, 1)
 * @returns {number}
 */
export function respondByUniform(value, law, uniform) {
  if (law.masses) return reportAt(law.masses[value], BigInt(uniform * 2 ** 53))
  const { choices, flip } = law
  const keep = flip === undefined ? keepProbability(law) : 0
  if (flip === undefined ? uniform < keep : uniform >= flip) return value
  const place = flip === undefined ? (uniform - keep) / ((1 - keep) / (choices - 1)) : uniform * (choices - 1) / flip
  const lie = Math.min(Math.trunc(place), choices - 2)
  return lie >= value ? lie + 1 : lie
}
