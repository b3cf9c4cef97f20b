//! The pure scheduler of Mely: color queues, stealing queues, worthiness, victim order, cost learning.
