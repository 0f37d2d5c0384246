// What a masked vote adds up: a ballot's numbers, each with a share of discrete Laplace noise, in exact integers.
//
// Privacy: of a sum with `planned` such shares that nobody knows, ε = sensitivity/scale, replace-one, unit: the voter.
// Exact. Source: Goryczka and Xiong (2017), as `psephos.protocol.mechanisms.polya` draws it, integer for integer.

import { Refusal } from './codec.js'
import { exact } from './randomizer.js'

/**
 * How a masked vote adds up ballots, as the terms have it.
 * @typedef {object} Sums
 * @property {string} phase
 * @property {number} parties n
 * @property {number} threshold T: so many take part to the end at least
 * @property {number} colluders c: so many work together with the server at most
 * @property {number[][]} margins of each weight what a no and what a yes adds to a candidate's sum
 * @property {number[]} totals of each weight what it adds to one more sum; empty where there is none
 * @property {number} width how many sums there are
 * @property {number} scale of the noise that `planned` shares add up to
 * @property {number} planned T − c
 */

const MOST_THRESHOLD = 1000 // from there on, each masks with some others alone
const MOST_TIMES = 32

/** Draws a uniform integer in [0, bound). @typedef {(bound: bigint) => bigint} Below */

const BITS = 320n // of fixed-point numbers
const ONE = 1n << BITS
const RATE_BITS = 80n

/** @param {bigint} above @param {bigint} below @returns {[bigint, bigint]} in lowest terms */
function ratio(above, below) {
  let [one, other] = [above, below]
  while (other) [one, other] = [other, one % other]
  return [above / one, below / one]
}

/** @param {bigint} x fixed-point, from 1/2 to 1 @returns {bigint} −ln x, by the series of artanh */
function minusLog(x) {
  const part = ((ONE - x) * ONE) / (ONE + x)
  const square = (part * part) / ONE
  let sum = 0n
  for (let n = 1n, term = part; term; n += 2n, term = (term * square) / ONE) sum += term / n
  return 2n * sum
}

/**
 * Return parts of rate f ≤ 1/2 each, and 2f, rounded up: of logarithmic numbers of a share, of both signs.
 * @param {number} scale
 * @param {number} planned
 * @returns {[bigint, bigint, bigint]}
 */
function partsOf(scale, planned) {
  const x = (ONE << 1074n) / exact(scale)
  let gap = 0n // 1 − e^(−x)
  for (let n = 1n, term = x; term; n++, term = (-term * x) / (n * ONE)) gap += term
  let rate = 0n
  while (gap < ONE / 2n) [gap, rate] = [2n * gap, rate + minusLog(ONE / 2n)]
  rate = (2n * (rate + minusLog(gap))) / BigInt(planned)
  const doubled = (rate >> (BITS - RATE_BITS)) + 2n
  const parts = (doubled + (1n << (RATE_BITS - 1n)) - 1n) >> (RATE_BITS - 1n)
  return [parts, ...ratio(doubled, parts << (RATE_BITS - 1n))]
}

/** @param {bigint} parts @param {bigint} above @param {bigint} below of 2f @param {Below} draw @returns {number} */
function drawPoisson(parts, above, below, draw) {
  let total = 0
  for (let part = 0n; part < parts; part++) {
    for (;;) {
      const number = drawHeads(draw)
      let at = 1
      while (at <= number && draw(below * BigInt(at)) < above) at++
      if (at <= number) continue
      total += number
      break
    }
  }
  return total
}

/** @param {Below} draw @returns {number} how many heads come before the first tail */
function drawHeads(draw) {
  let number = 0
  while (draw(2n) < 1n) number++
  return number
}

/**
 * Draw L with P[L = k] in proportion to e^(−k·decay)/k, by blocks [2^j, 2^(j+1)).
 * @param {[bigint, bigint]} decay a ratio
 * @param {Below} draw
 * @returns {bigint}
 */
function drawLogarithmic([above, below], draw) {
  const whole = (below + above - 1n) / above - 1n // how many blocks lie below the scale: its bits
  const numSmall = whole > 0n ? BigInt(whole.toString(2).length) : 0n
  for (;;) {
    let block = draw(numSmall + 1n)
    let heads = 0n
    if (block >= numSmall) {
      heads = BigInt(drawHeads(draw))
      block += heads
      if (numSmall > 0n) heads++
    }
    const least = 1n << block
    const rest = (least - (numSmall ? 0n : 1n)) * above - heads * below
    let accepted = 0n
    while (accepted < heads && happensTwoOverE(draw)) accepted++
    if (accepted < heads || !happensExp(rest, below, draw)) continue
    const more = draw(least)
    if (draw(least + more) < least && happensExp(more * above, below, draw)) return least + more
  }
}

/** @param {Below} draw @returns {boolean} with probability 2/e = 1 − 1/3 + 1/12 − … */
function happensTwoOverE(draw) {
  let number = 3n
  while (draw(number) < 1n) number++
  return number % 2n === 1n
}

/** @param {bigint} above @param {bigint} below @param {Below} draw @returns {boolean} with probability e^(−above/below) */
function happensExp(above, below, draw) {
  /** @param {bigint} rest of x in (0, 1] @param {bigint} unit */
  const happens = (rest, unit) => {
    let number = rest === unit ? 2n : 1n
    while (draw(unit * number) < rest) number++
    return number % 2n === 1n
  }
  for (let whole = above / below; whole > 0n; whole--) if (!happens(1n, 1n)) return false
  return above % below === 0n || happens(above % below, below)
}

/**
 * Add a share of noise to each number of a row, modulo 2⁶⁴.
 * @param {number[]} row
 * @param {{ scale: number, planned: number }} law the scale of the noise that `planned` shares add up to
 * @param {Below} draw
 * @returns {bigint[]} in [−2⁶³, 2⁶³)
 */
export function addShares(row, { scale, planned }, draw) {
  const decay = ratio(1n << 1074n, exact(scale))
  const parts = partsOf(scale, planned)
  return row.map((value) => {
    let noisy = BigInt(value)
    for (let left = drawPoisson(...parts, draw); left > 0; left--) {
      const size = drawLogarithmic(decay, draw)
      noisy += draw(2n) ? size : -size
    }
    return BigInt.asIntN(64, noisy)
  })
}

/**
 * Read what the terms say of the sums, and check that noise of that scale costs no more than they say.
 * @param {any} json the terms
 * @returns {Sums}
 * @throws {Refusal} they do not fit
 */
export function readSums({ masked, parameters: own }) {
  const { phase, parties, margins, totals, scale } = masked
  const { threshold, colluders, candidates, weights } = own
  const planned = threshold - colluders
  /** @type {(one: number, other: number) => number} how far apart two weights' ballots are */
  const distance = (one, other) => {
    const gaps = margins[one].flatMap((/** @type {number} */ value) =>
      margins[other].map((/** @type {number} */ another) => Math.abs(value - another)))
    return candidates.length * Math.max(...gaps) + (totals.length ? Math.abs(totals[one] - totals[other]) : 0)
  }
  const places = Object.keys(weights).map(Number)
  const areNumbers = margins.length === weights.length && [0, weights.length].includes(totals.length)
    && [...margins.flat(), ...totals].every(Number.isSafeInteger)
    && margins.every((/** @type {number[]} */ [no, yes, ...more], /** @type {number} */ at) =>
      !more.length && no < yes && (at === 0 || (yes > margins[at - 1][1] && no <= margins[at - 1][0])))
  const most = areNumbers ? Math.max(...[...margins.flat(), ...totals].map(Math.abs)) : Infinity
  const fits = Number.isInteger(parties) && parties + colluders < 2 * threshold && threshold <= parties
    && colluders >= 0 && threshold <= MOST_THRESHOLD && parties <= MOST_TIMES * planned && scale >= 1 / 16
    && parties * most + 128 * scale * (parties / planned + 1) < 2 ** 62
  const moved = areNumbers ? Math.max(...places.flatMap((one) => places
    .filter((other) => other === one || !own.public_weights).map((other) => distance(one, other)))) : Infinity
  if (!fits || BigInt(moved) << 2148n > exact(scale) * exact(candidates.length * own.epsilon)) {
    throw new Refusal('The terms of the sums do not fit, or cost more than they say.')
  }
  const width = candidates.length + Math.min(totals.length, 1)
  return { phase, parties, threshold, colluders, margins, totals, width, scale, planned }
}
