// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// hourly is a registry that is read once an hour.
func hourly() *tenantv1.TenantRegistry {
	return &tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{UID: "r", Generation: 1},
		Spec: tenantv1.TenantRegistrySpec{Source: tenantv1.DataSource{SyncInterval: "1h"}}}
}

func TestWhenTheNextReadingBegins(t *testing.T) {
	at := time.Unix(1000, 0)
	was := func(took time.Duration) *account {
		return &account{last: &reading{uid: "r", generation: 1, at: at, took: took}}
	}
	for sentence, c := range map[string]struct {
		a      *account
		change func(*account, *tenantv1.TenantRegistry)
		want   time.Time
	}{
		"it was never read: now":                                {&account{}, nil, time.Time{}},
		"nothing has happened: at the interval":                 {was(time.Second), nil, at.Add(time.Hour)},
		"the registry has changed: now":                         {was(time.Second), func(_ *account, o *tenantv1.TenantRegistry) { o.Generation = 2 }, time.Time{}},
		"it is another registry: now":                           {was(time.Second), func(_ *account, o *tenantv1.TenantRegistry) { o.UID = "s" }, time.Time{}},
		"news: at once, as far as reading is quick":             {was(time.Millisecond), func(a *account, _ *tenantv1.TenantRegistry) { a.news = true }, at.Add(3 * time.Millisecond)},
		"news of a large table: not all the time":               {was(20 * time.Second), func(a *account, _ *tenantv1.TenantRegistry) { a.news = true }, at.Add(time.Minute)},
		"news of a table that takes very long: at the interval": {was(time.Hour), func(a *account, _ *tenantv1.TenantRegistry) { a.news = true }, at.Add(time.Hour)},
		"news after the first failure: it may be mended":        {was(time.Millisecond), func(a *account, _ *tenantv1.TenantRegistry) { a.news, a.failures = true, 1 }, at.Add(3 * time.Millisecond)},
		"news after more failures: a little later":              {was(time.Millisecond), func(a *account, _ *tenantv1.TenantRegistry) { a.news, a.failures = true, 3 }, at.Add(2 * time.Second)},
		"news after many failures: not at each":                 {was(time.Millisecond), func(a *account, _ *tenantv1.TenantRegistry) { a.news, a.failures = true, 100 }, at.Add(5 * time.Second)},
		"tenants may go if their rows are not back: now":        {was(time.Second), func(a *account, _ *tenantv1.TenantRegistry) { a.wanted = true }, time.Time{}},
		"somebody has asked for it: now": {was(time.Second), func(_ *account, o *tenantv1.TenantRegistry) {
			o.Annotations = map[string]string{"reconcile.fluxcd.io/requestedAt": "x"}
		}, time.Time{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := hourly()
			if c.change != nil {
				c.change(c.a, obj)
			}
			if got := c.a.dueReading(obj); !got.Equal(c.want) {
				t.Errorf("at %s, want %s", got, c.want)
			}
		})
	}
}

// Only one pass begins a reading, and its result is taken once. News during a reading request
// another one, which may be newer.
func TestAReadingBesideThePasses(t *testing.T) {
	l, obj, now := newLedger(), hourly(), time.Unix(1000, 0)
	a := l.of(types.NamespacedName{})
	if !l.begin(a, obj, now) || l.begin(a, obj, now) {
		t.Fatal("not exactly one pass begins the reading")
	}
	if next := l.nextLook(a, obj, now); !next.IsZero() {
		t.Errorf("during a reading the next one is at %s", next)
	}
	if l.take(a) {
		t.Error("something has arrived")
	}
	a.news = true
	l.arrive(a, &reading{uid: "r", generation: 1, at: now, took: time.Second, digest: "d"})
	if !l.take(a) || l.take(a) || a.good == nil || a.last != a.good || !a.sameSince.Equal(now) {
		t.Fatalf("it was not taken exactly once: %+v", a)
	}
	if next := l.nextLook(a, obj, now); !next.Equal(now.Add(3 * time.Second)) {
		t.Errorf("after news the next reading is at %s", next)
	}
	if later := now.Add(time.Minute); !l.begin(a, obj, later) || a.news {
		t.Error("the news cause no reading")
	}
	l.arrive(a, &reading{uid: "r", generation: 1, at: now, err: errors.New("no answer")})
	if !l.take(a) || a.last.err == nil || a.good.err != nil || a.failures != 1 {
		t.Errorf("after a failure: %+v", a)
	}
	// The server ends, or has too much to read.
	if !l.begin(a, obj, now.Add(time.Hour)) {
		t.Fatal("it is not tried again")
	}
	l.arrive(a, nil)
	if l.take(a) || a.underway || a.failures != 1 || !a.news {
		t.Errorf("after nothing, of which it is forgotten that it was to be read: %+v", a)
	}
}

func TestWhoWentAMomentAgo(t *testing.T) {
	now := time.Unix(1000, 0)
	a := &account{let: map[string]time.Time{"b": now.Add(-5 * time.Second), "a": now.Add(-9 * time.Second), "old": now.Add(-10 * time.Second)}}
	uids, next := a.forgetLet(now, 10*time.Second)
	if diff := cmp.Diff([]string{"a", "b"}, uids); diff != "" || !next.Equal(now.Add(time.Second)) || len(a.let) != 2 {
		t.Errorf("until %s: %v (-want +got):\n%s", next, a.let, diff)
	}
}
