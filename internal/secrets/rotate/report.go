// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/secrets/decide"
)

// Report says how the secrets of an environment are. It has no values.
type Report struct {
	Environment string          `json:"environment"`
	Store       string          `json:"store"`
	Secrets     []Secret        `json:"secrets"`
	Copies      []Copy          `json:"copies,omitempty"`
	Dependents  []string        `json:"dependents,omitempty"`
	Rotation    *RotationReport `json:"rotation,omitempty"`
}

// Secret says how one secret is.
type Secret struct {
	Name      string   `json:"name"`
	Generator string   `json:"generator,omitempty"`
	Parts     []string `json:"parts"`
	// Made is when the value was made, or adopted.
	Made    *time.Time `json:"made,omitempty"`
	Age     string     `json:"age,omitempty"`
	Adopted bool       `json:"adopted,omitempty"`
	Expires *time.Time `json:"expires,omitempty"`
	// RotateEvery is the age at which it must be rotated.
	RotateEvery string `json:"rotateEvery,omitempty"`
	// Previous: the old value is valid, too.
	Previous bool        `json:"previous,omitempty"`
	Verb     decide.Verb `json:"verb"`
	Reason   string      `json:"reason"`
	Message  string      `json:"message"`
}

// The states of copies.
const (
	CopySame    = "same"
	CopyWritten = "written"
	CopyDiffers = "differs"
	CopyFailed  = "failed"
)

// Copy says how a copy is.
type Copy struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Problem string `json:"problem,omitempty"`
}

// RotationReport says how far a rotation is.
type RotationReport struct {
	Secrets  []string        `json:"secrets"`
	Phase    decide.Phase    `json:"phase"`
	Message  string          `json:"message"`
	Queue    []string        `json:"queue,omitempty"`
	Started  time.Time       `json:"started"`
	Continue *time.Time      `json:"continue,omitempty"`
	Failed   *decide.Failure `json:"failed,omitempty"`
}

func (k *Keeper) report(d decide.Document, decisions []decide.Decision) *Report {
	now := k.Now()
	r := &Report{Environment: k.Environment, Store: k.Store.Name(), Dependents: k.Dependents, Secrets: []Secret{}}
	for _, x := range decisions {
		s := Secret{Name: x.Name, Verb: x.Verb, Reason: x.Reason, Message: x.Message}
		if declared := k.File.Secret(x.Name); declared != nil {
			s.Generator, s.Parts = declared.Kind(), declared.Parts()
			if declared.Every > 0 {
				s.RotateEvery = decide.Days(declared.Every)
			}
		}
		if e, known := d.Book.Secrets[x.Name]; known {
			s.Made, s.Age, s.Adopted, s.Expires, s.Parts = &e.Made, decide.Days(now.Sub(e.Made)), e.Adopted, e.Expires, e.Parts
			s.Previous = slices.ContainsFunc(e.Parts, func(part string) bool {
				_, ok := d.Values[part+decide.Previous]
				return ok && d.Ours(part+decide.Previous)
			})
		}
		r.Secrets = append(r.Secrets, s)
	}
	if rot := d.Book.Rotation; rot != nil {
		r.Rotation = &RotationReport{Secrets: rot.Names, Phase: rot.Phase, Message: rot.Phase.Words(), Queue: rot.Queue, Started: rot.Started, Failed: rot.Failed}
		if step := decide.Next(d.Book, k.overlap(), now); step.Do == decide.StepWait {
			r.Rotation.Continue = &step.At
		}
	}
	return r
}

// action is an error if a person has something to do.
func (r *Report) action(environment string) error {
	var due []string
	for _, s := range r.Secrets {
		if s.Verb == decide.VerbRotate {
			due = append(due, s.Name+": "+s.Message)
		}
	}
	if len(due) == 0 {
		return nil
	}
	return &ActionError{fmt.Sprintf("%s\nRotate them:\n    yuba secrets rotate %s --due", strings.Join(due, "\n"), environment)}
}

// Findings are what is not as it should be, in words; empty if all is well.
func (r *Report) Findings() []string {
	var list []string
	for _, s := range r.Secrets {
		switch s.Verb {
		case decide.VerbKeep, decide.VerbAdopt:
		default:
			list = append(list, s.Name+": "+s.Message)
		}
	}
	for _, c := range r.Copies {
		switch c.State {
		case CopyDiffers:
			list = append(list, fmt.Sprintf("the copy %s differs. Write it: yuba secrets sync %s", c.Name, r.Environment))
		case CopyFailed:
			list = append(list, "the copy "+c.Name+" cannot be compared: "+c.Problem)
		}
	}
	if rot := r.Rotation; rot != nil {
		text := fmt.Sprintf("the rotation of %s is not finished (%s)", strings.Join(rot.Secrets, ", "), rot.Message)
		if rot.Failed != nil {
			text += "; " + rot.Failed.String()
		}
		if rot.Continue == nil || rot.Failed != nil {
			list = append(list, text+fmt.Sprintf(". Continue it: yuba secrets rotate %s", r.Environment))
		}
	}
	return list
}
