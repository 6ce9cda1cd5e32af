// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/testkit/webtest"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// A log that is followed ends when the right to read it does.
func TestARightThatIsGoneEndsALog(t *testing.T) {
	for _, may := range []bool{true, false} {
		var asked access.Right
		s := webtest.Site(t, &webtest.Watched{}, func(r access.Right) bool { asked = r; return may }, time.Now())
		var got bool
		s.Page("/", func(r *site.Request) (*site.Page, error) {
			got = mayFollow(r, client.ObjectKey{Namespace: "team", Name: "vpc"})
			return &site.Page{Title: "x"}, nil
		})
		if webtest.Get(t, s, "/"); got != may {
			t.Errorf("may follow: %v, want %v", got, may)
		}
		if want := (access.Right{Verb: "get", Group: "content.yuba.dev", Resource: "terraforms", Subresource: "log", Namespace: "team", Name: "vpc"}); !may && asked != want {
			t.Errorf("asked for %+v", asked)
		}
	}
}
