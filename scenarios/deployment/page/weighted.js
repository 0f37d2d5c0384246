// What a weighted vote says, asks and shows.

import { actions, choice, foreign, make, paragraph, quiet } from './dom.js'
import { keepProbability } from './randomizer.js'
import { showBallot } from './screens.js'
import { drawReports, readTerms } from './vote.js'
import { certainty, percent, short } from './words.js'

/** @typedef {import('./vote.js').Terms} Terms */
/** @typedef {import('./vote.js').Ballot} Ballot */
/** @typedef {import('./party.js').Seat} Seat */

/** @param {Terms} terms @returns {string} */
function weightsInWords({ weights, isWeightPrivate }) {
  if (!isWeightPrivate) return 'Your weight is public, and on the list of voters.'
  const range = weights.length <= 12 ? weights.join(', ') : `from ${weights[0]} to ${weights[weights.length - 1]}`
  return `And your weight, by which your vote counts: ${range}.`
}

/** @param {Terms} terms @returns {Node[]} */
const asked = (terms) => [
  make('ul', { className: 'asked' }, ...terms.candidates.map((name) => make('li', {}, foreign(name), ': yes or no'))),
  paragraph(weightsInWords(terms)),
]

/** @param {Terms} terms @returns {string} what this device does before it sends */
function does({ steps, epsilon, groups }) {
  if (steps[0].name === 'votes') {
    const times = short(1.0005 * Math.exp(epsilon.opinion))
    return 'replaces each answer, together with your weight, by something random. Whatever you answer, nothing that it '
      + `sends is more than ${times} times as likely as it would be for any other answer and weight`
  }
  /** @param {number} epsilon @param {number} choices */
  const lie = (epsilon, choices) => percent(1 - keepProbability({ epsilon, choices }))
  const weight = epsilon.weight
    ? `, and your weight into another one with a probability of ${lie(epsilon.weight, Math.max(...groups) + 1)}` : ''
  return `turns each answer into the opposite with a probability of ${lie(epsilon.opinion, 2)}${weight}`
}

/** @param {Terms} terms @returns {import('./systems.js').Part|null} */
function part({ steps, epsilon, isCentral }) {
  const { opinion, weight } = epsilon
  const rest = steps[0].name === 'votes' ? ' with your weight'
    : weight ? `, ε = ${short(weight)} for each report of your weight` : ''
  return isCentral ? null : {
    about: 'how you voted on a proposal',
    sure: certainty(opinion, 2),
    isAll: steps.length === 1 && steps[0].candidates.length === 1,
    loss: `ε = ${short(opinion)} for each answer${rest}`,
  }
}

/** @param {number[]} weights @param {string} chosen @returns {HTMLElement} */
function weightChoice(weights, chosen) {
  /** @type {[string, string][]} */
  const options = weights.map((weight, place) => [String(place), String(weight)])
  if (options.length <= 6) return choice('weight', 'Your weight', options, chosen)
  return paragraph(make('label', { htmlFor: 'weight' }, 'Your weight '),
    make('select', { id: 'weight', name: 'weight', autocomplete: 'off' }, make('option', { value: '' }, 'Choose'),
      ...options.map(([value, text]) => make('option', { value, selected: value === chosen }, text))))
}

/**
 * Ask for a ballot.
 * @param {Terms} terms
 * @param {Seat} seat
 * @param {Ballot|null} earlier what was chosen before
 * @returns {Promise<Ballot>}
 */
function askBallot(terms, seat, earlier) {
  const { candidates, isWeightPrivate, options, weights } = terms
  const [no, yes] = options
  const fields = candidates.map((name, place) =>
    choice(`opinion ${place}`, name, [['1', yes], ['0', no]], String(earlier?.opinions[place] ?? '')))
  if (isWeightPrivate) fields.unshift(weightChoice(weights, String(earlier?.weight ?? '')))
  const fault = make('p', { className: 'fault', role: 'alert' })
  const form = make('form', { noValidate: true, autocomplete: 'off' }, ...fields, fault,
    actions(make('button', { type: 'submit', className: 'main' }, 'Review')))
  form.onchange = () => { fault.textContent = '' }
  return new Promise((resolve) => {
    form.onsubmit = (event) => {
      event.preventDefault()
      const data = new FormData(form)
      const names = [...(isWeightPrivate ? ['weight'] : []), ...candidates.map((_, place) => `opinion ${place}`)]
      const missing = names.filter((name) => !data.get(name))
      if (missing.length) {
        const texts = missing.map((name) =>
          (name === 'weight' ? 'your weight' : `“${candidates[Number(name.split(' ')[1])]}”`))
        const more = texts.length > 3 ? ` and ${texts.length - 3} more` : ''
        fault.textContent = `Please answer: ${texts.slice(0, 3).join(', ')}${more}.`
        const first = form.elements.namedItem(missing[0])
        const input = first instanceof RadioNodeList ? first[0] : first
        if (input instanceof HTMLElement) input.focus()
        return
      }
      resolve({
        weight: isWeightPrivate ? Number(data.get('weight')) : null,
        opinions: candidates.map((_, place) => Number(data.get(`opinion ${place}`))),
      })
    }
    const weight = isWeightPrivate ? '.' : `, whose weight is ${weights[seat.row[1]]}.`
    showBallot(terms, seat, weight, form)
  })
}

/** @param {Terms} terms @param {Seat} _ @param {Ballot} ballot @returns {[Node|string, string][]} */
function answers({ candidates, options, weights }, _, { weight, opinions }) {
  /** @type {[Node|string, string][]} */
  const rows = candidates.map((name, place) => [foreign(name), options[opinions[place]]])
  return weight === null ? rows : [['Your weight', String(weights[weight])], ...rows]
}

/** @param {Terms} terms @param {number} step @returns {string} */
function stepInWords({ steps }, step) {
  const { name, candidates } = steps[step]
  if (name === 'ballot') return 'Your ballot'
  const count = steps.length > 1 ? `Report ${step + 1} of ${steps.length}` : 'Your report'
  if (name === 'weight') return `${count}: your weight`
  return `${count}: your ${candidates.length > 1 ? 'answers' : 'answer'}${name === 'votes' ? ' and weight' : ''}`
}

/** @param {any} estimate @param {[number, number]} range of what is possible @returns {string} */
function marginInWords(estimate, [least, greatest]) {
  const excess = estimate.value < least || estimate.value > greatest
    ? ` Only ${short(least)} to ${short(greatest)} is possible; the excess is noise.` : ''
  return `Weight of yes above the quota: ${short(estimate.value)} ± ${short(estimate.standard_error)}.${excess}`
}

/** @param {any} candidate @returns {[string, string, string]} class, decision, what it means */
function decisionOf({ verdict, passed }) {
  const sure = `Whatever the truth is, this is wrong with a probability of at most ${percent(verdict.level)}.`
  if (verdict.verdict === 'passes') return ['passes', 'Passes', sure]
  if (verdict.verdict === 'fails') return ['fails', 'Fails', sure]
  return ['undecided', `Undecided, leaning ${passed ? 'yes' : 'no'}`,
    'A leaning decides nothing: if it was nearly a tie, it is a coin toss.']
}

/** @param {any} candidate @param {any} possible @returns {Node} */
function outcomeCard(candidate, possible) {
  const [kind, decision, meaning] = decisionOf(candidate)
  const margin = candidate.margin ? [quiet(marginInWords(candidate.margin, possible.margin))] : []
  return make('li', { className: `candidate ${kind}` }, make('h2', {}, foreign(candidate.name)),
    make('p', { className: 'decision' }, decision), quiet(meaning), ...margin)
}
/** @type {import('./systems.js').System} */
export const system = {
  phrases: {
    act: 'vote', start: 'Vote', session: 'vote', person: 'voter', thing: 'ballot', of: 'Ballot of', cast: 'Cast this ballot', done: 'Your ballot is cast',
  },
  readTerms,
  asked,
  does,
  known: (terms) => (terms.isWeightPrivate
    ? 'That you take part is known: your name is on the list of voters.'
    : 'That you take part is known, and so is your weight: both are on the list of voters.'),
  part,
  askBallot,
  answers,
  draw: (terms, _, ballot) => drawReports(terms, ballot),
  stepInWords,
  outcome: (_, { candidates, num_partners, possible }) => [
    make('ul', { className: 'candidates' },
      ...candidates.map((/** @type {any} */ candidate) => outcomeCard(candidate, possible))),
    quiet(`${num_partners} voters reported. ± is one standard error of the randomization.`)],
}
