// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/usage"
	"github.com/yuba-dev/yuba/internal/web/site"
)

const (
	// remembered is how long an answer is used again.
	remembered = 10 * time.Second
	// maxAnswers and maxUses bound what is kept in memory: an answer can name each stack several times,
	// and a use has about half a kilobyte.
	maxAnswers, maxUses = 200, 30_000
)

// answers are recent answers of the server's index of modules, for each person.
type answers struct {
	mu    sync.Mutex
	known map[asked]answer
	// uses counts those of all answers.
	uses int
}

// get returns an answer that is not too old.
func (a *answers) get(key asked, now time.Time) ([]usage.User, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.known[key]
	return known.users, ok && now.Before(known.until)
}

// keep keeps an answer. Old ones make room, and if that is not enough, all do.
func (a *answers) keep(key asked, users []usage.User, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(key)
	for other, known := range a.known {
		if !now.Before(known.until) {
			a.forget(other)
		}
	}
	if a.known == nil || len(a.known) >= maxAnswers || a.uses+len(users) > maxUses {
		a.known, a.uses = map[asked]answer{}, 0
	}
	if len(users) <= maxUses {
		a.known[key] = answer{users, now.Add(remembered)}
		a.uses += len(users)
	}
}

func (a *answers) forget(key asked) {
	a.uses -= len(a.known[key].users)
	delete(a.known, key)
}

type asked struct{ person, of string }

type answer struct {
	users []usage.User
	until time.Time
}

// Users returns the stacks that use a module, provider or tool, as the person may know it.
func (f *Finder) Users(r *site.Request, of string) ([]usage.User, error) {
	key := asked{r.Person.Key(), of}
	if users, ok := f.answers.get(key, r.Now); ok {
		return users, nil
	}
	list, err := r.As.Content.Users(r.Context(), of, "")
	if err != nil {
		return nil, refusalOf(of, err)
	}
	f.answers.keep(key, list.Items, r.Now)
	return list.Items, nil
}
