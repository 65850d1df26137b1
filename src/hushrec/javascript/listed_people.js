// Prediction for the users whom a release lists.

import { Choice } from "./choice.js";
import { products } from "./factor_predictor.js";

/** @typedef {import("./artefact.js").Release} Release */

/**
 * μ_i + user_mean + b_u + f_i · p_u, with the released effect b_u and factors p_u of user u (Friedman et al.
 * 2016, §4.1). Lists are ordered by popularity and the taste f_i · p_u.
 */
export class ListedPeople {
  /** @param {Release} release of kind "factors and people" */
  constructor(release) {
    this.release = release;
    this.positions = new Map(release.users.map((user, at) => [user, at]));
    this.choice = new Choice(release, release.tensors.item_popularity);
  }

  /**
   * Predicted ratings of one user, not clamped to the scale.
   * @param {number} person their place on the list
   * @param {ArrayLike<number>} targets
   * @returns {Float64Array}
   */
  predict(person, targets) {
    const { item_effects: effects, user_effects: levels } = this.release.tensors;
    const level = this.release.constants.user_mean + levels[person];
    return this.tastes(person, targets).map((taste, at) => effects[targets[at]] + level + taste);
  }

  /**
   * How likely the user chooses and likes each item.
   * @param {number} person
   * @param {ArrayLike<number>} targets
   * @returns {Float64Array}
   */
  scores(person, targets) {
    return this.choice.of(targets, this.tastes(person, targets));
  }

  /**
   * f_i · p_u of each item.
   * @param {number} person
   * @param {ArrayLike<number>} targets
   */
  tastes(person, targets) {
    const { rank, tensors } = this.release;
    const vector = Float64Array.from(tensors.user_factors.subarray(person * rank, (person + 1) * rank));
    return products(tensors.item_factors, rank, vector, targets);
  }
}
