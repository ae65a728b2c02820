package fakemaestro

import "sync"

// queue hands items from the commits to one goroutine. It has no limit, so that a commit never waits for a reader.
type queue[T any] struct {
	mu     sync.Mutex
	items  []T
	filled chan struct{} // one slot: something may be there
}

func newQueue[T any]() *queue[T] { return &queue[T]{filled: make(chan struct{}, 1)} }

func (q *queue[T]) push(item T) {
	q.mu.Lock()
	q.items = append(q.items, item)
	q.mu.Unlock()
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

// run calls handle for each item in order until stop is closed.
func (q *queue[T]) run(stop <-chan struct{}, handle func(T)) {
	for {
		select {
		case <-stop:
			return
		case <-q.filled:
		}
		for _, item := range q.take() {
			select {
			case <-stop:
				return
			default:
				handle(item)
			}
		}
	}
}

func (q *queue[T]) take() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = nil
	return items
}
