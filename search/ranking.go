package search

import "slices"

// ranking keeps the items with the highest rate, the earliest index on a tie.
type ranking[T any] struct {
	size  int // how many to keep
	items []ranked[T]
}

type ranked[T any] struct {
	rate  float64
	index int
	item  T
}

// toBeat is the rate that an item must exceed to be kept.
func (r *ranking[T]) toBeat() float64 {
	if len(r.items) < r.size {
		return 0
	}
	return r.items[len(r.items)-1].rate
}

// add keeps an item if it is among the best.
func (r *ranking[T]) add(rate float64, index int, item T) {
	at, _ := slices.BinarySearchFunc(r.items, ranked[T]{rate: rate, index: index}, func(a, b ranked[T]) int {
		switch {
		case a.rate > b.rate || a.rate == b.rate && a.index < b.index:
			return -1
		case a.rate == b.rate && a.index == b.index:
			return 0
		}
		return 1
	})
	if at >= r.size {
		return
	}
	r.items = slices.Insert(r.items, at, ranked[T]{rate, index, item})
	if len(r.items) > r.size {
		r.items = r.items[:r.size]
	}
}
