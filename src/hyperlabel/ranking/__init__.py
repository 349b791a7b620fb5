"""Rankers: classifiers that order labels by pairs."""

from hyperlabel.ranking.calibrated import CalibratedLabelRanking
from hyperlabel.ranking.path import rank_svm_path
from hyperlabel.ranking.rank_svm import HypergraphRankSVM, RankSVM

__all__ = ["RankSVM", "HypergraphRankSVM", "rank_svm_path", "CalibratedLabelRanking"]
