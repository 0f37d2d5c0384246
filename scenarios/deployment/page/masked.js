// What the page needs for masked votes alone, and fetches for those: what it draws, and what it says of them.

import { paragraph, quiet, strong } from './dom.js'
import { FORMS, MaskingParty, agreement, rulesOf } from './masks.js'
import { MASKED } from './party.js'
import { addShares, readSums } from './sums.js'
import { Refusal } from './codec.js'
import { certainty, percentUp, short } from './words.js'

/** @typedef {ReturnType<typeof readMasked>} Masked */

/** What each step sends, in words. */
const STEPS = ['Keys of this device', 'Shares of the masks', 'A check of the others’ shares',
  'Proof that a share is wrong', 'Your ballot, masked', 'A signature on who takes part',
  'What opens the sum, and no ballot', 'What opens the sum without a cheater']

/**
 * Read how a vote is masked.
 * @param {any} json the terms
 */
export function readMasked(json) {
  const sums = readSums(json)
  const { colluders, parties, planned, threshold } = sums
  const epsilon = json.epsilon.total
  const who = `the server${colluders ? ` together with up to ${colluders} of the other voters` : ' alone'}`
  return {
    ...sums,
    FORMS,
    MaskingParty,
    rulesOf,
    checkBrowser,
    makeRoot,
    /** @param {number} weight its place @param {number[]} opinions @returns {bigint[]} what a ballot adds, with noise */
    drawRow: (weight, opinions) => {
      const row = opinions.map((opinion) => sums.margins[weight][opinion])
      return addShares([...row, ...sums.totals.slice(weight, weight + 1)], sums, drawBelow)
    },
    learners: [paragraph(strong('Nobody learns it, neither the server nor another voter.'), ' This device makes numbers of '
      + 'your answers, adds a share of random noise to them, and covers them by masks that it agrees on with all other '
      + 'devices. Masks cancel out in the sum alone, which is all that the server can open.'),
    paragraph('That you take part is known: the list of voters has your name, and all voters get it.')],
    cost: [
      paragraph('Whoever sees the result is at most ', strong(`${percentUp(certainty(epsilon, 2))} sure`),
        ` of any one thing on your ballot that was as likely as not before. That holds against ${who}, also if the server `
        + 'lies, as long as the list of voters that it sends is the true one.'),
      paragraph(`There is a result if ${threshold} of the ${parties} voters stay to the end: ${parties - threshold} may `
        + 'leave, or cheat.'),
      quiet(`Privacy loss: ε = ${short(epsilon)} for the whole ballot, against ${who} (distributed model, replace-one, `
        + 'unit: the voter), as far as X25519, ChaCha20 and Ed25519 hold.')],
    others: `, and that at least ${planned} voters are people with devices of their own who do not work together with the `
      + 'server, and that the server sends the true list of voters. One that lies could put devices of its own in the '
      + 'others’ place, and whoever made the links could open them. Your receipt names the list, to compare with others',
    kept: 'This device keeps your numbers until they are masked and sent: whoever looks into it before that finds your '
      + 'answers, with little noise.',
    steps: STEPS,
    advice: paragraph('All devices go through these steps together, once everybody on the list has opened the link. If '
      + 'this page closes, the device sleeps, or the network is gone, open your link again on this device at once: it goes '
      + 'on where it was. Once your masked ballot is with the server it counts, if enough others stay.'),
    /** @param {Map<number, Uint8Array>} receipts @returns {string} whether the ballot is in the sum */
    counted: (receipts) => (receipts.has(MASKED) ? 'Yes. The server acknowledged your masked ballot in time.'
      : 'No: the server has no masked ballot of yours that it acknowledged.'),
  }
}

/** @param {bigint} bound @returns {bigint} a uniform integer in [0, bound) from the browser's entropy, by rejection */
function drawBelow(bound) {
  const bits = (bound - 1n).toString(2).length
  for (;;) {
    const bytes = crypto.getRandomValues(new Uint8Array(Math.ceil(bits / 8)))
    const drawn = bytes.reduce((all, byte) => (all << 8n) | BigInt(byte), 0n) >> BigInt(8 * bytes.length - bits)
    if (drawn < bound) return drawn
  }
}

/** @returns {Promise<CryptoKey>} from which all secrets of the session follow, and which does not leave the browser */
async function makeRoot() {
  const entropy = crypto.getRandomValues(new Uint8Array(32))
  return crypto.subtle.importKey('raw', entropy, 'HKDF', false, ['deriveBits'])
}

/** See that the browser can agree on masks, before anything is drawn; Refusal: it cannot. */
async function checkBrowser() {
  try {
    await agreement(1n)
  } catch {
    throw new Refusal('This browser is too old: it cannot agree on masks with others (X25519). Please open the link in '
      + 'Chrome or Edge from version 133, Firefox from 130, or Safari from 17. Nothing was sent.')
  }
}
