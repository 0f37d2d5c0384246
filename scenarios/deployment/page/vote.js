// A weighted vote's terms: what is asked, by which law each answer is reported, what it costs.

import { Refusal, packRow } from './codec.js'
import { STEPS } from './party.js'
import { isPrivate, numReports, respond } from './randomizer.js'
import { readAnyTerms, unsupported } from './terms.js'

/** @typedef {import('./randomizer.js').Law} Law */

/**
 * A step of the vote: what it reports of a ballot, each value by the law. Without a law it reports them as they are.
 * @typedef {object} Step
 * @property {string} name weight, opinions, votes (opinions together with the weight, value by value), ballot, or a step
 *   of a masked vote
 * @property {number[]} candidates whose opinions it reports, by place
 * @property {Law|null} law
 * @property {boolean} isPublished whether the server tells everybody something when the step has closed
 */

/**
 * A ballot as it is filled in: the weight's place in the public set, or null where it is public, and each opinion.
 * @typedef {{ weight: number|null, opinions: number[] }} Ballot
 */

/**
 * The terms of a vote.
 * @typedef {object} OwnTerms
 * @property {string[]} candidates
 * @property {string[]} options of each candidate: the words for 0 and 1
 * @property {number[]} weights
 * @property {number[]} groups the group of each weight
 * @property {number[][]} votes the values of no and yes for each group, where weight and opinion are reported together
 * @property {boolean} isWeightPrivate
 * @property {Step[]} steps
 * @property {{ weight: number, opinion: number, total: number }} epsilon of a report of each kind, and of all
 */

/** @typedef {Omit<import('./terms.js').AnyTerms, keyof OwnTerms> & OwnTerms} Terms */

const UNSUPPORTED = ['weight_matrix', 'opinion_matrix', 'epsilons', 'weights_within', 'game']
const SEPARATE = ['joint', 'printed']
const SIGNED = ['two_point', 'signed_rr', 'optimal']

/**
 * Read the terms.
 * @param {any} json
 * @returns {Terms}
 * @throws {Refusal} this page cannot vote by them
 */
export function readTerms(json) {
  const own = json.parameters
  const isCentral = own.variant === 'central'
  const isMasked = own.variant === 'masked'
  const isKnown = isCentral || isMasked || SEPARATE.includes(own.variant) || (SIGNED.includes(own.variant) && !own.public_weights)
  const other = UNSUPPORTED.find((name) => name in own) ?? (isKnown ? '' : `variant ${own.variant}`)
  if (other) throw unsupported(other)
  const groups = own.groups.length ? own.groups : own.weights.map((/** @type {number} */ weight) => [weight])
  const steps = isCentral ? [ballotStep(own)] : isMasked ? STEPS.map((name) => ({ ...ballotStep(own), name }))
    : SIGNED.includes(own.variant) ? [votesStep(own, json.channel)] : separateSteps(own, groups.length)
  const weight = steps.find((step) => step.name === 'weight')?.law?.epsilon ?? 0
  const opinion = steps[steps.length - 1].law?.epsilon ?? own.epsilon
  const losses = steps.map((step) => (step.name === 'weight' ? weight : step.candidates.length * opinion))
  const total = isMasked ? losses[0] : losses.reduce((sum, loss) => sum + loss, 0)
  return {
    ...readAnyTerms(json, { isCentral, isMasked, steps, epsilon: { weight, opinion, total } }),
    candidates: own.candidates,
    options: optionsOf(json.ballots, own.candidates),
    weights: own.weights,
    groups: groups.flatMap((/** @type {number[]} */ members, /** @type {number} */ group) => members.map(() => group)),
    votes: steps[0].name === 'votes' ? checkVotes(json.channel.votes, groups.length, steps[0].law?.choices ?? 0) : [],
    isWeightPrivate: !own.public_weights,
    steps,
    epsilon: { weight, opinion, total },
  }
}

/** @param {any[]} all @returns {number[]} */
const placesOf = (all) => all.map((_, place) => place)

/** @param {Record<string, any>} own @returns {Step} */
const ballotStep = (own) => ({ name: 'ballot', candidates: placesOf(own.candidates), law: null, isPublished: false })

/** @param {Record<string, any>} own @param {any} channel @returns {Step} */
function votesStep(own, { choices, masses }) {
  /** @type {Law} */
  const law = { epsilon: own.epsilon, choices }
  if (masses) law.masses = masses
  if (masses && !isPrivate(law)) throw new Refusal('The terms have a table that costs more than they say.')
  return { name: 'votes', candidates: placesOf(own.candidates), law, isPublished: false }
}

/** @param {Record<string, any>} own @param {number} numGroups @returns {Step[]} */
function separateSteps(own, numGroups) {
  const half = own.public_weights ? own.epsilon : own.epsilon / 2
  const ofWeight = { epsilon: own.epsilon_weight ?? half, choices: numGroups }
  const ofOpinion = { epsilon: own.epsilon_opinion ?? half, choices: 2 }
  /** @type {Step[]} */
  const weight = own.public_weights ? [] : [{ name: 'weight', candidates: [], law: ofWeight, isPublished: true }]
  const places = placesOf(own.candidates)
  const rounds = own.weight_collection === 'per_candidate' ? places.map((place) => [place]) : [places]
  return rounds.flatMap((candidates) =>
    [...weight, { name: 'opinions', candidates, law: ofOpinion, isPublished: false }])
}

/**
 * Return the values of votes, each a place in the increasing set of signed weights, if they can be those: a yes has
 * more than a no, a heavier yes more than a lighter one, and a heavier no not more.
 * @param {number[][]} votes
 * @param {number} numGroups
 * @param {number} choices
 */
function checkVotes(votes, numGroups, choices) {
  const isOrdered = votes.length === numGroups && votes.every(([no, yes], group) => {
    const [lighterNo, lighterYes] = votes[group - 1] ?? [no, -1]
    const arePlaces = Number.isInteger(no) && Number.isInteger(yes) && no >= 0 && yes < choices
    return arePlaces && no < yes && yes > lighterYes && no <= lighterNo
  })
  if (!isOrdered) throw new Refusal('The terms take a yes for something else.')
  return votes
}

/** @param {any[]} ballots @param {string[]} candidates @returns {string[]} */
function optionsOf(ballots, candidates) {
  const isMatch = ballots.length === candidates.length
    && ballots.every((ballot, place) => ballot.name === candidates[place] && ballot.options.length === 2)
  if (!isMatch) throw new Refusal('The terms ask for other answers than the vote takes.')
  return ['No', 'Yes']
}

/**
 * Draw the reports of a ballot, one for each step, as they are sent.
 * @param {Terms} terms
 * @param {Ballot} ballot
 * @param {(value: number, law: Law) => number} [draw]
 * @returns {Uint8Array[]} payloads
 */
export function drawReports(terms, { weight, opinions }, draw = respond) {
  return terms.steps.map(({ name, candidates, law }) => {
    const group = terms.groups[Number(weight)]
    const answers = candidates.map((place) => opinions[place])
    if (!law) {
      const bound = Math.max(terms.weights.length - 1, 1)
      return packRow(weight === null ? answers : [weight, ...answers], -bound, bound)
    }
    const ofAnswers = name === 'votes' ? answers.map((answer) => terms.votes[group][answer]) : answers
    const values = name === 'weight' ? [group] : ofAnswers
    return packRow(values.map((value) => draw(value, law)), 0, numReports(law) - 1)
  })
}
