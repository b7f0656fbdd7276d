package web

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"throughline/internal/parallel"
)

// work bounds what is computed at a time, and what waits for its turn.
type work struct {
	running chan struct{}
	waiting atomic.Int64
	most    int64 // that wait
}

func newWork(running, waiting int) *work {
	return &work{running: make(chan struct{}, running), most: int64(waiting)}
}

// errBusy: too many wait already.
var errBusy = errors.New("the server is busy; ask again in a moment")

// do computes within a time, when there is room for it.
func (w *work) do(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	select {
	case w.running <- struct{}{}:
	default:
		if w.waiting.Add(1) > w.most {
			w.waiting.Add(-1)
			return errBusy
		}
		select {
		case w.running <- struct{}{}:
			w.waiting.Add(-1)
		case <-ctx.Done():
			w.waiting.Add(-1)
			return ctx.Err()
		}
	}
	defer func() { <-w.running }()
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := f(within); err != nil {
		if p := new(parallel.Panic); errors.As(err, &p) {
			panic(p)
		}
		return err
	}
	if err := within.Err(); errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// recent is the last few things, by name.
type recent[T any] struct {
	mu    sync.Mutex
	most  int
	of    map[string]T
	order []string // the oldest first
}

func newRecent[T any](most int) *recent[T] { return &recent[T]{most: most, of: map[string]T{}} }

func (k *recent[T]) get(name string) (T, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.of[name]
	return v, ok
}

func (k *recent[T]) each(visit func(name string, v T)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, v := range k.of {
		visit(name, v)
	}
}

func (k *recent[T]) put(name string, v T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.of[name]; !ok {
		k.order = append(k.order, name)
	}
	k.of[name] = v
	for len(k.order) > k.most {
		delete(k.of, k.order[0])
		k.order = k.order[1:]
	}
}
