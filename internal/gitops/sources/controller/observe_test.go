// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhatALookIsObservedAs(t *testing.T) {
	found := &Found{Revision: "main@sha1:1"}
	for sentence, c := range map[string]struct {
		outcome          outcome
		result, revision string
	}{
		"something new":               {outcome{found: found, made: &packed{}}, LookNew, "main@sha1:1"},
		"what was there already":      {outcome{found: found}, LookUnchanged, ""},
		"a failure":                   {outcome{err: errors.New("no route")}, LookFailed, ""},
		"a failure to keep something": {outcome{found: found, err: errors.New("disk full")}, LookFailed, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "infra"}}
			l := observed(gitRepositories(nil), o, &c.outcome, time.Now().Add(-time.Second))
			if l.Kind != "GitRepository" || l.Name.String() != "team/infra" || l.Result != c.result || l.Revision != c.revision || l.Took < time.Second {
				t.Errorf("%+v", l)
			}
		})
	}
}
