// Numbers and dates in words.

/** @param {number} share @returns {string} never less than it is */
export const percentUp = (share) => `${(Math.ceil(share * 1000 - 1e-9) / 10).toFixed(1)} %`
/** @param {number} share @returns {string} */
export const percent = (share) => `${(100 * share).toFixed(1)} %`
/** @param {number} number @returns {string} */
export const short = (number) => number.toLocaleString('en', { maximumSignificantDigits: 4 }).replace('-', '−')
/** @param {number} seconds since 1970 @returns {string} */
export function dateOf(seconds) {
  return new Date(1000 * seconds).toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'short' })
}

/**
 * Return how sure anybody can be of one of several equally likely values after a report of loss epsilon.
 * @param {number} epsilon
 * @param {number} choices
 * @returns {number} a probability
 */
export const certainty = (epsilon, choices) => 1 / (1 + (choices - 1) * Math.exp(-epsilon))
