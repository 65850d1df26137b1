"""People wherever their rows are: in memory or in files here, or in a cluster."""

from hushrec.data.people import People
from hushrec.data.spark.people import SparkPeople

AnyPeople = People | SparkPeople
"""Both have the same names, and the same sums over them have the same bits."""
