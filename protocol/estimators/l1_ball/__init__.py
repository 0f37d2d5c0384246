"""Maximization of many concave functions over an ℓ₁ ball, each certified by its duality gap."""

from .maximum import BallMaximum
from .probit import fit_probit, log_likelihoods
from .projection import project_to_l1_ball
from .quadratics import maximize_quadratics

__all__ = ["BallMaximum", "fit_probit", "log_likelihoods", "maximize_quadratics", "project_to_l1_ball"]
