package disk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// schedule runs writers one change at a time, in random order and without locks.
type schedule struct {
	turn    []chan bool // of each writer: it may make its next change, or is dead
	yielded chan bool   // the writer whose turn it is waits again, or has ended
	current int
	dead    []bool
}

// step lets a writer run up to its next change. It reports false once the writer has ended.
func (s *schedule) step(writer int) bool {
	s.current = writer
	s.turn[writer] <- true
	return <-s.yielded
}

// hook is called by the writer whose turn it is.
func (s *schedule) hook(c Call) error {
	writer := s.current
	if s.dead[writer] {
		return errInjected
	}
	s.yielded <- true
	<-s.turn[writer]
	if s.dead[writer] {
		return errInjected
	}
	return withoutLock(c)
}

// start starts a writer that waits for its turn.
func (s *schedule) start(write func()) {
	turn := make(chan bool)
	s.turn = append(s.turn, turn)
	s.dead = append(s.dead, false)
	go func() {
		<-turn
		write()
		s.yielded <- false
	}()
}

// TestSchedules has three writers of models of both kinds make their changes in random orders, without a lock. Some die at a
// change. A file that takes the place of another one just before that is removed is removed, which is the worst that can
// happen. There is always a whole model.
func TestSchedules(t *testing.T) {
	rounds := 200
	if testhost.Nightly() {
		rounds = 20000
	}
	for seed := range rounds {
		problem := runSchedule(t, rand.New(rand.NewPCG(uint64(seed), 37)))
		if problem != "" {
			t.Fatalf("seed %d: %s", seed, problem)
		}
	}
}

// runSchedule returns what is wrong with a schedule, or "".
func runSchedule(t *testing.T, random *rand.Rand) string {
	dir := testhost.FastDir(t)
	defer os.RemoveAll(dir)
	model := func(text string) toyModel {
		if random.IntN(2) == 0 {
			return toyModel{parts: []string{text, text}}
		}
		return toyModel{text: text + text}
	}
	expect.OK(t, model("o").in(dir))
	s := &schedule{yielded: make(chan bool)}
	var errs []error
	log := []string{}
	var left []int
	for i := range 3 {
		models := []toyModel{model(string(rune('a' + i))), model(string(rune('A' + i)))}
		log = append(log, fmt.Sprintf("writer %d writes parts %q, then %q", i, models[0].parts, models[1].parts))
		left = append(left, i)
		s.start(func() {
			for _, m := range models {
				err := m.in(dir)
				if err != nil && !s.dead[i] && !errors.Is(err, errMarked) {
					errs = append(errs, fmt.Errorf("writer %d: %w", i, err))
				}
			}
		})
	}
	SetHook(func(c Call) error {
		log = append(log, fmt.Sprintf("%d: %s %s", s.current, c.Name, show(dir, c.Path)))
		return s.hook(c)
	})
	defer SetHook(nil)
	for len(left) > 0 {
		at := random.IntN(len(left))
		writer := left[at]
		if random.IntN(120) == 0 {
			s.dead[writer] = true
			log = append(log, fmt.Sprint(writer, " dies"))
		}
		for n := 1 + random.IntN(12); n > 0; n-- {
			if !s.step(writer) {
				left = append(left[:at:at], left[at+1:]...)
				break
			}
		}
		listed, single := models(t, dir)
		if t.Failed() || listed+single == "" || !isPair(listed) || !isPair(single) {
			for _, writer := range left { // so that no goroutine stays
				s.dead[writer] = true
				for s.step(writer) {
				}
			}
			return fmt.Sprintf("the index opens %q, the file %q\n%s", listed, single, strings.Join(log, "\n"))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...).Error() + "\n" + strings.Join(log, "\n")
	}
	return ""
}

// isPair reports whether a model has one letter twice, or is none.
func isPair(text string) bool { return text == "" || len(text) == 2 && text[0] == text[1] }
