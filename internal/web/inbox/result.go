// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/web/acts"
	"github.com/yuba-dev/yuba/internal/web/site"
)

const (
	// doneAtOnce is how many stacks are acted on concurrently.
	doneAtOnce = 8
	// maxResults and resultLife bound the results that this process remembers.
	maxResults, resultLife = 200, time.Hour
)

// outcome is what came of a verb for one stack.
type outcome struct {
	ID, Key, Address, Says string
	Bad                    bool
}

// outcomes is the data of the template "inbox-result".
type outcomes struct {
	Verb       acts.Verb
	Comment    string
	Done, Bad  int
	All        []outcome
	person, id string
	at         time.Time
}

// results remembers what came of decisions about many stacks, for the people who made them.
type results struct {
	mu  sync.Mutex
	all []*outcomes
}

func (x *results) keep(o *outcomes) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all = slices.DeleteFunc(x.all, func(old *outcomes) bool { return o.at.Sub(old.at) > resultLife })
	if over := len(x.all) + 1 - maxResults; over > 0 {
		x.all = slices.Delete(x.all, 0, over)
	}
	x.all = append(x.all, o)
}

func (x *results) get(person, id string) *outcomes {
	x.mu.Lock()
	defer x.mu.Unlock()
	if i := slices.IndexFunc(x.all, func(o *outcomes) bool { return o.id == id && o.person == person }); i >= 0 {
		return x.all[i]
	}
	return nil
}

// do does a verb with all stacks that the form names, as the person saw them.
func (p *pages) do(r *site.Request) (site.Done, error) {
	verb := acts.Verb(r.PostFormValue("verb"))
	selected, err := parseSelection(r.PostForm["row"])
	switch {
	case err != nil:
		return site.Done{}, err
	case !verb.Known() || len(selected.likes) > 0:
		return site.Done{}, site.BadRequest("Nothing was done: the form does not say what to do.", "")
	case len(selected.rows) == 0:
		return site.Done{}, site.BadRequest("Nothing was done: no stack is selected.", "")
	case len(selected.rows) > maxRows:
		return site.Done{}, site.BadRequest(fmt.Sprintf("Nothing was done: more than %d stacks are selected.", maxRows), "")
	}
	o := &outcomes{Verb: verb, Comment: strings.TrimSpace(r.PostFormValue("comment")), All: make([]outcome, len(selected.rows)), person: r.Person.Key(), id: rand.Text(), at: r.Now}
	var doing errgroup.Group
	doing.SetLimit(doneAtOnce)
	for i, row := range selected.rows {
		doing.Go(func() error {
			says, err := acts.Do(r, verb, row, o.Comment)
			o.All[i] = outcome{ID: idOf("result", row.Namespace, row.Name), Key: row.Key(), Address: site.Path("stacks", row.Namespace, row.Name), Says: says}
			if err != nil {
				o.All[i].Says, o.All[i].Bad = explain(err), true
			}
			return nil
		})
	}
	doing.Wait() //nolint:errcheck // each has its own result
	for _, one := range o.All {
		if one.Bad {
			o.Bad++
		} else {
			o.Done++
		}
	}
	if len(o.All) == 1 {
		if o.Bad == 1 {
			return site.Done{}, site.Conflict(o.All[0].Says, "")
		}
		return site.Done{Says: o.All[0].Says, Next: Section}, nil
	}
	p.results.keep(o)
	return site.Done{Says: fmt.Sprintf("%s: %d done, %d not.", verb.Label(), o.Done, o.Bad), Next: "/inbox/result/" + o.id}, nil
}

// explain is the sentence of an error.
func explain(err error) string {
	var refused *site.Refusal
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &refused):
		return strings.TrimSpace(refused.Says + " " + refused.Hint)
	case apierrors.IsForbidden(err):
		return "You may not do this: " + err.Error() + "."
	case apierrors.IsNotFound(err):
		return "It does not exist any more."
	case errors.As(err, &status):
		return err.Error()
	}
	return "The API did not answer as expected, so nothing is known about what became of this. Look at the stack before you try again."
}

func (p *pages) result(r *site.Request) (*site.Page, error) {
	o := p.results.get(r.Person.Key(), r.PathValue("id"))
	if o == nil {
		return nil, site.NotFound("What came of this decision is not known any more: results are remembered for an hour, until the server restarts.", "The stacks show how they stand.")
	}
	return &site.Page{Title: fmt.Sprintf("%s: %d done, %d not", o.Verb.Label(), o.Done, o.Bad), Section: Section, Trail: []site.Link{{Text: "Inbox", Address: Section}},
		Parts: []site.Part{{ID: "result", View: "inbox-result", Data: o}}}, nil
}
