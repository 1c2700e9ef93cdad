"""Training of the cost model: random programs, their schedules' times, a small network."""
