// A vote's public terms, as /session.json has them: what is asked, by which law each answer is reported, what it costs.

import { Refusal, packRow } from './codec.js'
import { respond } from './randomizer.js'

/** @typedef {import('./randomizer.js').Law} Law */

/**
 * A step of the vote: which values of a ballot it reports, and the law of each.
 * @typedef {object} Step
 * @property {'weight'|'opinions'} name
 * @property {number[]} candidates whose opinions it reports, by place
 * @property {Law} law
 * @property {boolean} isPublished whether the server tells everybody something when the step has closed
 */

/**
 * A ballot as it is filled in: the weight's place in the public set, or null where it is public, and each opinion.
 * @typedef {{ weight: number|null, opinions: number[] }} Ballot
 */

/**
 * The terms of a vote.
 * @typedef {object} Terms
 * @property {string[]} words session, protocol and kind
 * @property {Record<string, any>} parameters
 * @property {[string, string, number]} descriptor the session's id, its roster's digest, until when anybody takes part
 * @property {string} title
 * @property {string} question empty where there is none
 * @property {string[]} candidates
 * @property {string[]} options of each candidate: the words for 0 and 1
 * @property {number[]} weights
 * @property {number[]} groups the group of each weight
 * @property {boolean} isWeightPrivate
 * @property {Step[]} steps
 * @property {{ weight: number, opinion: number, total: number }} epsilon of a report of each kind, and of all
 * @property {Record<string, string>} files the SHA-256 of each of this page's files, in base64url
 */

const UNSUPPORTED = ['weight_matrix', 'opinion_matrix', 'epsilons', 'weights_within', 'game']

/**
 * Read the terms.
 * @param {any} json
 * @returns {Terms}
 * @throws {Refusal} this page cannot vote by them
 */
export function readTerms(json) {
  const own = json.parameters
  const unsupported = UNSUPPORTED.find((name) => name in own)
  const isOurs = json.wire === 10 && json.protocol === 'dpwevote' && json.kind === 'deployment'
  if (!isOurs || unsupported || json.trust !== 'local' || !['joint', 'printed'].includes(own.variant)) {
    const what = isOurs ? unsupported ?? `variant ${own.variant}` : `${json.kind} of ${json.protocol}, wire ${json.wire}`
    throw new Refusal(`This page cannot take part in such a vote (${what}).`)
  }
  const groups = own.groups.length ? own.groups : own.weights.map((/** @type {number} */ weight) => [weight])
  const half = own.public_weights ? own.epsilon : own.epsilon / 2
  const weightLaw = { epsilon: own.epsilon_weight ?? half, choices: groups.length }
  const opinionLaw = { epsilon: own.epsilon_opinion ?? half, choices: 2 }
  /** @type {string[]} */
  const candidates = own.candidates
  const everybody = candidates.map((_, place) => place)
  const rounds = own.weight_collection === 'per_candidate' ? everybody.map((place) => [place]) : [everybody]
  /** @type {Step[]} */
  const steps = rounds.flatMap((round) => [
    ...(own.public_weights ? [] : [weightStep(weightLaw)]),
    { name: 'opinions', candidates: round, law: opinionLaw, isPublished: false },
  ])
  const total = steps.reduce((sum, step) => sum + valuesIn(step) * step.law.epsilon, 0)
  if (!(Math.abs(total - json.epsilon.total) <= 1e-9 * total)) {
    throw new Refusal('The terms state another privacy cost than what this page would draw.')
  }
  return {
    words: [json.session, json.protocol, json.kind],
    parameters: own,
    descriptor: json.descriptor,
    title: json.title,
    question: json.question ?? '',
    candidates,
    options: optionsOf(json.ballots, candidates),
    weights: own.weights,
    groups: groups.flatMap((/** @type {number[]} */ members, /** @type {number} */ group) => members.map(() => group)),
    isWeightPrivate: !own.public_weights,
    steps,
    epsilon: { weight: own.public_weights ? 0 : weightLaw.epsilon, opinion: opinionLaw.epsilon, total },
    files: json.page ?? {},
  }
}

/** @param {Law} law @returns {Step} */
const weightStep = (law) => ({ name: 'weight', candidates: [], law, isPublished: true })

/** @param {Step} step */
const valuesIn = (step) => (step.name === 'weight' ? 1 : step.candidates.length)

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
export function drawReports(terms, ballot, draw = respond) {
  return terms.steps.map(({ name, candidates, law }) => {
    const values = name === 'weight' ? [terms.groups[Number(ballot.weight)]] : candidates.map((place) => ballot.opinions[place])
    return packRow(values.map((value) => draw(value, law)), 0, law.choices - 1)
  })
}

/**
 * Return how sure anybody can be of one of several equally likely values after a report of loss epsilon.
 * @param {number} epsilon
 * @param {number} choices
 * @returns {number} a probability
 */
export const certainty = (epsilon, choices) => 1 / (1 + (choices - 1) * Math.exp(-epsilon))
