package web

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"throughline/internal/parallel"
)

// message is a part of an answer that is told before the whole.
type message struct {
	name string // a newer one of the same name takes its place
	data []byte
	page *content
}

// outbox holds what is told until somebody writes it.
type outbox struct {
	mu   sync.Mutex
	list []message
	some chan struct{}
}

func newOutbox() *outbox { return &outbox{some: make(chan struct{}, 1)} }

func (o *outbox) put(m message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(slices.DeleteFunc(o.list, func(old message) bool { return old.name == m.name }), m)
	select {
	case o.some <- struct{}{}:
	default:
	}
}

func (o *outbox) take() []message {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.list
	o.list = nil
	return out
}

// aside computes in a goroutine of its own while this one writes what it tells: who reads slowly
// takes no place at work. Late is called when the answer takes longer than most.
func (s *Server) aside(ctx context.Context, limit time.Duration, o *outbox, write func(message), late func(), f func(context.Context) error) error {
	ended := make(chan error, 1)
	go func() { ended <- parallel.Caught(func() error { return s.work.do(ctx, limit, f) })() }()
	waited := time.NewTimer(latePause)
	defer waited.Stop()
	for {
		select {
		case <-o.some:
			for _, m := range o.take() {
				write(m)
			}
		case <-waited.C:
			late()
		case err := <-ended:
			if p := new(parallel.Panic); errors.As(err, &p) {
				panic(p)
			}
			return err
		}
	}
}

// latePause is how long a page waits for its answer before it shows the question alone.
const latePause = 400 * time.Millisecond
