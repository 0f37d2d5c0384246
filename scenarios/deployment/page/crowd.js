// A crowd's tasks: a card for each, and labels that are randomized one by one, or told to the server.

import { Refusal, isEqual, packRow } from './codec.js'
import { actions, button, choice, foreign, make, paragraph, quiet, strong } from './dom.js'
import { isPrivate, respond } from './randomizer.js'
import { showBallot } from './screens.js'
import { readAnyTerms, unsupported } from './terms.js'
import { certainty, percent, short } from './words.js'

/** @typedef {import('./randomizer.js').Law} Law */
/** @typedef {import('./party.js').Seat} Seat */

/**
 * The terms of a survey.
 * @typedef {object} OwnTerms
 * @property {{ name: string, labels: string[], offset: number, law: Law|null }[]} tasks the offset is the code of the
 *   first label; without a law answers are sent as they are
 * @property {number} width how many tasks a worker is asked at most
 * @property {number} codes how many there are
 */

/** @typedef {import('./terms.js').AnyTerms & OwnTerms} Terms */

const NONE = -1 // no task, and no answer

/** @param {any} json @returns {Terms} */
export function readTerms(json) {
  const { max_answers: width, mechanism, epsilons } = json.parameters
  /** @type {{ answer_set_of_task: number[], answer_sets: string[][], tasks: string[] }} */
  const { answer_set_of_task: setOfTask, answer_sets: sets, tasks } = json.parameters
  const isCentral = mechanism === 'central'
  if (epsilons || !(isCentral || json.channel?.flips)) throw unsupported(`mechanism ${mechanism}`)
  const numbers = tasks.map((_, task) => setOfTask[task] ?? 0)
  const ballots = tasks.map((name, task) => ({ name, options: sets[numbers[task]] }))
  if (!isEqual(json.ballots, ballots)) throw new Refusal('The terms ask for other answers than the survey takes.')
  /** @type {Law[]} */
  const laws = isCentral ? [] : sets.map((labels, set) =>
    ({ epsilon: json.channel.losses[set], choices: labels.length, flip: json.channel.flips[set] }))
  if (!laws.every(isPrivate)) throw new Refusal('The terms randomize less than they say.')
  const losses = numbers.map((set) => laws[set]?.epsilon).sort((one, other) => other - one)
  const total = losses.slice(0, width).reduce((sum, loss) => sum + loss, 0)
  return {
    ...readAnyTerms(json, {
      isCentral,
      hasOwn: !isCentral,
      steps: [{ isPublished: false }],
      epsilon: isCentral ? json.epsilon : { answer: losses[0], total },
    }),
    tasks: tasks.map((name, task) => {
      const set = numbers[task]
      return { name, labels: sets[set], offset: sets.slice(0, set).flat().length, law: laws[set] ?? null }
    }),
    width,
    codes: sets.flat().length,
  }
}

/** @param {Terms} terms @param {Seat} seat @returns {Terms['tasks']} what the worker is asked */
function tasksOf({ tasks, width }, { row }) {
  const asked = row.slice(1).filter((task) => task !== NONE)
  if (row.length !== width + 1 || new Set(asked).size < asked.length || !asked.every((task) => tasks[task])) {
    throw new Refusal('The server asks for tasks that the survey does not have.')
  }
  return asked.map((task) => tasks[task])
}

/**
 * Draw the report of a worker's answers.
 * @param {Terms} terms
 * @param {Seat} seat
 * @param {number[]} answers the place of each label among those of its task; -1 for a task that is skipped
 * @param {(value: number, law: Law) => number} [draw]
 * @returns {Uint8Array[]} payloads
 */
export function drawReports(terms, seat, answers, draw = respond) {
  const codes = tasksOf(terms, seat).map(({ law, offset }, place) => {
    const answer = answers[place]
    return answer === NONE ? NONE : offset + (law ? draw(answer, law) : answer)
  })
  const row = Array.from({ length: terms.width }, (_, place) => codes[place] ?? NONE)
  return [terms.isCentral ? packRow(row, -terms.codes, terms.codes) : packRow(row, NONE, terms.codes - 1)]
}

/** @param {Terms} terms @returns {import('./systems.js').Part} */
const part = ({ epsilon, tasks, width }) => ({
  about: 'which label you gave to a task',
  sure: Math.max(...tasks.map(({ law }) => (law ? certainty(law.epsilon, law.choices) : 1))),
  isAll: width === 1,
  loss: `ε = ${short(epsilon.answer)} for each answer`,
})

/**
 * Ask for the label of one task, on a card.
 * @param {Terms} terms
 * @param {Seat} seat
 * @param {number} at which of the worker's tasks
 * @param {number|undefined} chosen
 * @returns {Promise<number|null>} null to go back
 */
function askTask(terms, seat, at, chosen) {
  const tasks = tasksOf(terms, seat)
  const { name, labels } = tasks[at]
  /** @type {[string, string][]} */
  const options = labels.map((label, place) => [String(place), label])
  const card = choice('answer', name, [...options, [String(NONE), 'Skip this task']], String(chosen ?? ''))
  card.className = 'rows'
  const fault = make('p', { className: 'fault', role: 'alert' })
  const next = at < tasks.length - 1 ? 'Next' : 'Review'
  return new Promise((resolve) => {
    const form = make('form', { noValidate: true, autocomplete: 'off' }, card, fault,
      actions(make('button', { type: 'submit', className: 'main' }, next),
        ...(at ? [button('Back', () => resolve(null))] : [])))
    form.onchange = () => { fault.textContent = '' }
    form.onsubmit = (event) => {
      event.preventDefault()
      const answer = new FormData(form).get('answer')
      if (answer !== null) resolve(Number(answer))
      else {
        fault.textContent = 'Please choose a label, or skip this task.'
        form.querySelector('input')?.focus()
      }
    }
    showBallot(terms, seat, `: task ${at + 1} of ${tasks.length}`, form)
    if (at) form.querySelector('input')?.focus()
  })
}

/** @param {Terms} terms @param {Seat} seat @param {number[]|null} earlier @returns {Promise<number[]>} */
async function askAnswers(terms, seat, earlier) {
  const answers = [...earlier ?? []]
  for (let at = 0; at < tasksOf(terms, seat).length;) {
    const answer = await askTask(terms, seat, at, answers[at])
    if (answer !== null) answers[at] = answer
    at += answer === null ? -1 : 1
  }
  return answers
}

/** @param {Terms} terms @param {Seat} seat @param {number[]} ballot @returns {[Node, Node|string][]} */
const answersInWords = (terms, seat, ballot) => tasksOf(terms, seat).map(({ name, labels }, place) =>
  [foreign(name), ballot[place] === NONE ? 'Skipped' : foreign(labels[ballot[place]])])

/** @param {Terms} terms @param {any} outcome @param {any} own @returns {Node[]} */
function showTruths({ isCentral, tasks }, { num_answers: numbers, num_workers: number, reports, truths }, own) {
  const cards = tasks.map(({ name, labels }, task) => {
    const truth = truths[task]
    const count = `${reports[task][labels.indexOf(truth)]} of ${numbers[task]}`
    return make('li', { className: 'candidate' }, make('h2', {}, foreign(name)),
      make('p', { className: 'decision' }, truth === null ? 'Nobody answered' : foreign(truth)),
      ...(truth === null ? []
        : [quiet(isCentral ? `${count} answers say so, by counts with noise.` : `${count} randomized reports say so.`)]))
  })
  return [make('ul', { className: 'candidates' }, ...cards),
    quiet(`${number} workers reported. What is found here may be wrong.`),
    ...(own ? [paragraph('The server tells you alone: by its estimate, ', strong(percent(own.quality)),
      ` of what you say is right; it gives you the weight ${short(own.weight)}.`)] : [])]
}

/** @type {import('./systems.js').System} */
export const system = {
  phrases: {
    act: 'answer', start: 'Answer', session: 'survey', person: 'worker', thing: 'answer sheet', of: 'Answers of',
    cast: 'Send these answers', done: 'Your answers are given',
  },
  readTerms,
  asked: ({ tasks, width }) => [paragraph(`The right label for up to ${width} of ${tasks.length} tasks, one after `
    + 'another. You may skip any of them.')],
  does: (terms) => {
    const flips = new Set(terms.tasks.map((/** @type {{ law: Law }} */ { law }) => percent(law.flip ?? 0)))
    return `turns each answer into another label with a probability of ${[...flips].join(' or ')}`
  },
  known: () => 'That you take part is known, and so is which tasks you are asked, and which of them you skip.',
  part,
  askBallot: askAnswers,
  answers: answersInWords,
  draw: drawReports,
  stepInWords: () => 'Your answers',
  outcome: showTruths,
}
