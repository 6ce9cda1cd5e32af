// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/secrets/decide"
	"github.com/yuba-dev/yuba/internal/secrets/rotate"
)

// stateWords describe decisions.
var stateWords = map[decide.Verb]string{
	decide.VerbKeep: "ok", decide.VerbMake: "made", decide.VerbAdopt: "adopted", decide.VerbRotate: "rotate it", decide.VerbRetire: "not declared",
}

// print shows a report; nothing if there is none.
func (g *group) print(r *rotate.Report, out *ui.Output) error {
	if r == nil {
		return nil
	}
	if out.Machine() {
		return out.Print(g.Out, r)
	}
	rows := [][]string{{"SECRET", "GENERATOR", "AGE", "EXPIRES", "STATE", "MESSAGE"}}
	for _, s := range r.Secrets {
		state, expires := stateWords[s.Verb], ""
		if s.Verb == decide.VerbMake && s.Made == nil {
			state = "missing"
		}
		if s.Previous {
			state += ", old value valid"
		}
		if s.Expires != nil {
			expires = s.Expires.Format(time.DateOnly)
		}
		message := s.Message
		if s.Verb == decide.VerbKeep || s.Verb == decide.VerbMake {
			message = strings.Join(s.Parts, ", ")
		}
		rows = append(rows, []string{s.Name, s.Generator, s.Age, expires, state, message})
	}
	if err := g.Table(rows, out, "MESSAGE"); err != nil {
		return err
	}
	g.News("Kept in %s.", r.Store)
	for _, c := range r.Copies {
		g.News("Copy %s: %s.", c.Name, c.State)
	}
	if rot := r.Rotation; rot != nil {
		g.News("A rotation of %s is not finished: %s.", strings.Join(rot.Secrets, ", "), rot.Message)
	}
	return nil
}
