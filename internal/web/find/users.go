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
	// maxAnswers bounds what is kept in memory.
	maxAnswers = 200
)

// answers are recent answers of the server's index of modules, for each person.
type answers struct {
	mu    sync.Mutex
	known map[asked]answer
}

type asked struct{ person, of string }

type answer struct {
	users []usage.User
	until time.Time
}

// Users returns the stacks that use a module, provider or tool, as the person may know it.
func (f *Finder) Users(r *site.Request, of string) ([]usage.User, error) {
	key := asked{r.Person.Key(), of}
	f.answers.mu.Lock()
	known, ok := f.answers.known[key]
	f.answers.mu.Unlock()
	if ok && r.Now.Before(known.until) {
		return known.users, nil
	}
	list, err := r.As.Content.Users(r.Context(), of, "")
	if err != nil {
		return nil, refusalOf(of, err)
	}
	f.answers.mu.Lock()
	defer f.answers.mu.Unlock()
	if f.answers.known == nil || len(f.answers.known) >= maxAnswers {
		f.answers.known = map[asked]answer{}
	}
	f.answers.known[key] = answer{list.Items, r.Now.Add(remembered)}
	return list.Items, nil
}
