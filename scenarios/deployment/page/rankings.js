// A ranking: by drag, by buttons or by numbers; randomized as a whole or in one question, or told to the server.

import { Refusal, isEqual, packRow } from './codec.js'
import { actions, announce, button, foreign, make, paragraph, quiet } from './dom.js'
import { drawBelow, keepProbability, respond } from './randomizer.js'
import { showBallot } from './screens.js'
import { readAnyTerms, unsupported } from './terms.js'
import { percent, short } from './words.js'

/** @typedef {import('./randomizer.js').Law} Law */
/** @typedef {import('./party.js').Seat} Seat */

/**
 * The terms of a vote by rankings.
 * @typedef {object} OwnTerms
 * @property {string[]} alternatives
 * @property {string[]} groups
 * @property {string} asked what is reported: a drawn pair, the position of a drawn alternative, the whole, or it as it is
 * @property {number} questions of which one is drawn
 * @property {Law} law of its answer
 */

/** @typedef {import('./terms.js').AnyTerms & OwnTerms} Terms */

/** @param {any} json @returns {Terms} */
export function readTerms(json) {
  const { alternatives, epsilon, epsilons, groups, relation } = json.parameters
  const size = alternatives.length
  const isCentral = json.trust === 'central'
  const asked = isCentral ? 'central' : json.channel?.question
  /** @type {Record<string, [number, number]>} */
  const numbers = {
    central: [1, 2],
    sampled_pair: [size * (size - 1) / 2, 2],
    sampled_position: [size, size],
    whole_ranking: [1, factorial(size)],
  }
  if (epsilons || relation !== 'replace-one' || !Object.hasOwn(numbers, asked)) throw unsupported(json.parameters.mechanism)
  if (!isEqual(json.ballots, [{ name: 'ranking', options: alternatives }])) {
    throw new Refusal('The terms ask for another ranking than the vote takes.')
  }
  const [questions, choices] = numbers[asked]
  const total = isCentral ? json.epsilon.total : epsilon
  return {
    ...readAnyTerms(json, { isCentral, steps: [{ isPublished: false }], epsilon: { total } }),
    alternatives, groups, asked, questions, law: { epsilon, choices },
  }
}

/** @param {number} number @returns {number} */
const factorial = (number) => (number > 1 ? number * factorial(number - 1) : 1)

/**
 * Draw the report of a ranking.
 * @param {Terms} terms
 * @param {Seat} _
 * @param {number[]} positions of each alternative, from 0, the best
 * @param {(value: number, law: Law) => number} [draw]
 * @param {(bound: bigint) => bigint} [below]
 * @returns {Uint8Array[]} payloads
 */
export function drawReports({ asked, law, questions }, _, positions, draw = respond, below = drawBelow) {
  const size = positions.length
  if (asked === 'central') return [packRow(positions, 1 - size, size - 1)]
  const question = asked === 'whole_ranking' ? 0 : Number(below(BigInt(questions)))
  const pairs = positions.flatMap((first, at) => positions.slice(at + 1).map((second) => Number(first > second)))
  const code = positions.reduce((sum, own, at) =>
    sum * (size - at) + positions.slice(at + 1).filter((later) => later < own).length, 0)
  const answer = asked === 'sampled_pair' ? pairs[question] : asked === 'whole_ranking' ? code : positions[question]
  return [packRow([question * law.choices + draw(answer, law)], 0, questions * law.choices - 1)]
}

/** @param {Terms} terms @returns {string} */
function does({ asked, law }) {
  const lie = percent(1 - keepProbability(law))
  return {
    sampled_pair: 'draws two of the alternatives, and says nothing but which of them you prefer, turned round with a '
      + `probability of ${lie}`,
    sampled_position: 'draws one of the alternatives, and says nothing but its place in your ranking, replaced by another '
      + `place with a probability of ${lie}`,
  }[asked] ?? `replaces your ranking by another one with a probability of ${lie}`
}

/**
 * Ask for a ranking, from an order by lot on, so that no alternative gains by where it stands.
 * @param {Terms} terms
 * @param {Seat} seat
 * @param {number[]|null} earlier
 * @returns {Promise<number[]>} the position of each alternative
 */
function askRanking(terms, seat, earlier) {
  const { alternatives, groups } = terms
  const group = groups[seat.row[0]]
  if (group === undefined || seat.row.length > 1) throw new Refusal('The server has another group than the vote.')
  /** @type {number[]} */
  const order = []
  alternatives.forEach((_, place) => {
    if (earlier) order[earlier[place]] = place
    else order.splice(Number(drawBelow(BigInt(place + 1))), 0, place)
  })
  const list = make('ol', { className: 'ranking' })
  const selects = alternatives.map((name, place) => make('select', {
    'aria-label': `Place of ${name}`, autocomplete: 'off', onchange: () => move(place, Number(selects[place].value)),
  }, ...alternatives.map((_, at) => make('option', { value: String(at) }, String(at + 1)))))
  const items = alternatives.map((name, place) => {
    /** @type {(text: string, word: string, step: number) => HTMLElement} */
    const mover = (text, word, step) => {
      const element = button(text, () => move(place, order.indexOf(place) + step), 'small')
      element.setAttribute('aria-label', `${name}: ${word}`)
      return element
    }
    const handle = make('span', { className: 'handle', 'aria-hidden': 'true' }, '⠿')
    handle.onpointerdown = ({ pointerId }) => {
      dragged = place
      list.setPointerCapture(pointerId)
    }
    return make('li', {}, handle, selects[place], make('span', { className: 'name' }, foreign(name)),
      mover('▲', 'up', -1), mover('▼', 'down', 1))
  })
  let dragged = -1
  list.onpointermove = ({ clientY }) => {
    const at = order.findIndex((place) => clientY < items[place].getBoundingClientRect().bottom)
    if (dragged >= 0 && order[at] !== dragged) move(dragged, at < 0 ? order.length - 1 : at)
  }
  list.onlostpointercapture = () => { dragged = -1 }
  const arrange = () => {
    const focused = document.activeElement
    list.append(...order.map((place) => items[place]))
    order.forEach((place, at) => { selects[place].value = String(at) })
    if (focused instanceof HTMLElement && list.contains(focused)) focused.focus()
  }
  /** @param {number} place @param {number} at */
  const move = (place, at) => {
    if (at < 0 || at >= order.length) return
    order.splice(order.indexOf(place), 1)
    order.splice(at, 0, place)
    arrange()
    announce(`${alternatives[place]}: place ${at + 1} of ${order.length}`)
  }
  arrange()
  return new Promise((resolve) => {
    const form = make('form', { autocomplete: 'off' }, list,
      actions(make('button', { type: 'submit', className: 'main' }, 'Review')))
    form.onsubmit = (event) => {
      event.preventDefault()
      resolve(alternatives.map((_, place) => order.indexOf(place)))
    }
    showBallot(terms, seat, `${groups.length > 1 ? `, of ${group}` : ''}. Put what you like best first: drag, `
      + `press ▲ and ▼, or choose numbers.${earlier ? '' : ' The order in which you find it was drawn by lot.'}`, form)
  })
}

/** @param {any} outcome @returns {Node[]} */
function showWinner({ alternatives, assurance, objective, winner }) {
  const sure = assurance.verdict === 'confirmed' ? 'Confirmed: whatever the rankings are, a winner that is not the best is '
    + `confirmed with a probability of at most ${percent(assurance.level)}.`
    : 'Noise took part in this, and another one may be the best.'
  const rows = alternatives.map((/** @type {any} */ { name, welfare }) => make('div', {}, make('dt', {}, foreign(name)),
    make('dd', {}, `${short(welfare.value)} ± ${short(welfare.standard_error)}`)))
  return [make('ul', { className: 'candidates' }, make('li', { className: 'candidate passes' },
    make('h2', {}, `Elected, by the objective “${objective}”`), make('p', { className: 'decision' }, foreign(winner)), quiet(sure))),
  ...(rows.length ? [paragraph('Mean score of all voters, ± one standard error of the noise:'), make('dl', {}, ...rows)] : [])]
}

/** @type {import('./systems.js').System} */
export const system = {
  phrases: {
    act: 'vote', start: 'Vote', session: 'vote', person: 'voter', thing: 'ranking', of: 'Ranking of',
    cast: 'Cast this ranking', done: 'Your ranking is cast',
  },
  readTerms,
  asked: ({ alternatives }) => [paragraph('Your ranking of:'),
    make('ul', { className: 'asked' }, ...alternatives.map((/** @type {string} */ name) => make('li', {}, foreign(name))))],
  does,
  known: ({ groups }) => (groups.length > 1 ? 'That you take part is known, and so is your group.'
    : 'That you take part is known: your name is on the list of voters.'),
  part: () => null,
  askBallot: askRanking,
  answers: ({ alternatives }, _, positions) => {
    /** @type {[Node|string, Node|string][]} */
    const rows = alternatives.map((/** @type {string} */ name, /** @type {number} */ place) =>
      [`${positions[place] + 1}`, foreign(name)])
    return rows.sort(([one], [other]) => Number(one) - Number(other))
  },
  draw: drawReports,
  stepInWords: () => 'Your ranking',
  outcome: (_, outcome) => showWinner(outcome),
}
