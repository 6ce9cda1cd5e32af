// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/rollout"
	"github.com/yuba-dev/yuba/internal/tenants/database"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
)

func TestWhenRowsAreReadAgain(t *testing.T) {
	at := time.Unix(1000, 0)
	for sentence, c := range map[string]struct {
		failures int
		interval time.Duration
		want     time.Duration
	}{
		"after a good reading: at the interval":                  {0, time.Hour, time.Hour},
		"after a failure: soon":                                  {1, time.Hour, 5 * time.Second},
		"after more failures: later":                             {3, time.Hour, 20 * time.Second},
		"after many failures: not too late":                      {50, 24 * time.Hour, longestPause},
		"after a failure with a short interval: at the interval": {1, time.Second, time.Second},
		"after more failures with a short interval: beyond it":   {5, time.Second, 16 * time.Second},
		"after many failures with an interval of half a minute":  {50, 30 * time.Second, longestPause},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := &account{last: &reading{at: at}, failures: c.failures}
			if got := a.nextReading(c.interval).Sub(at); got != c.want {
				t.Errorf("after %s", got)
			}
		})
	}
	if got := (&account{}).nextReading(time.Hour); !got.IsZero() {
		t.Errorf("before the first reading: %s", got)
	}
}

func TestFailuresHaveTheirReasons(t *testing.T) {
	for class, want := range map[database.Class]string{database.Unreachable: tenantv1.ReasonDatabaseConnectionFailed, database.AccessDenied: tenantv1.ReasonSourceDenied,
		database.NotFound: tenantv1.ReasonSourceNotFound, database.TooMuch: tenantv1.ReasonSourceTooLarge, database.Invalid: tenantv1.ReasonSourceInvalid, database.Failed: tenantv1.ReasonDatabaseConnectionFailed} {
		if got := failureReason(&database.Error{Class: class}); got != want {
			t.Errorf("%s: %s", class, got)
		}
	}
	if got := failureReason(errors.New("any other")); got != tenantv1.ReasonDatabaseConnectionFailed {
		t.Errorf("any other error: %s", got)
	}
}

func objectMeta(name, version string, uid types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, ResourceVersion: version, UID: uid}
}

// The cache lags behind our own writes, which must count for decisions.
func TestWhatWasWrittenCountsUntilTheCacheHasIt(t *testing.T) {
	tenant := func(version, uid string) tenantv1.Tenant {
		return tenantv1.Tenant{ObjectMeta: objectMeta("acme-web", version, types.UID(uid))}
	}
	newer := tenant("20", "u")
	a := &account{overlay: map[string]written{}}
	a.wrote(&newer, false, time.Unix(1, 0))
	if got := a.lay([]tenantv1.Tenant{tenant("10", "u")})["acme-web"].ResourceVersion; got != "20" {
		t.Errorf("the version is %s", got)
	}
	if got := a.lay([]tenantv1.Tenant{tenant("30", "u")})["acme-web"].ResourceVersion; got != "30" || len(a.overlay) > 0 {
		t.Errorf("the version is %s, and %d are laid over", got, len(a.overlay))
	}
	a.wrote(&newer, true, time.Unix(1, 0))
	if got := a.lay(nil); got["acme-web"] == nil {
		t.Error("one that was just made is not there")
	}
	a.wrote(&newer, false, time.Unix(1, 0))
	if got := a.lay(nil); got["acme-web"] != nil {
		t.Error("a deleted tenant exists")
	}
	a.deleted(&newer, time.Unix(1, 0))
	if got := a.lay([]tenantv1.Tenant{tenant("20", "u")})["acme-web"]; got.DeletionTimestamp == nil {
		t.Error("a tenant under deletion is not marked")
	}
	if got := a.lay([]tenantv1.Tenant{tenant("40", "other")})["acme-web"]; got.DeletionTimestamp != nil || len(a.overlay) > 0 {
		t.Error("another one of the name is going")
	}
}

func TestTheRolloutsTimesAreKept(t *testing.T) {
	template := &tenantv1.TenantTemplate{}
	template.Generation = 2
	began, later := time.Unix(100, 0), time.Unix(200, 0)
	s := rolloutOf(template, template.Status.Rollout, rollout.Decision{Phase: decide.PhaseInProgress, Began: began, Total: 3, Updated: 1, Updating: 1}, began)
	if s.StartTime == nil || !s.StartTime.Time.Equal(began) || s.CompletionTime != nil || s.TargetGeneration != 2 {
		t.Errorf("it began as %+v", s)
	}
	template.Status.Rollout = s
	s = rolloutOf(template, template.Status.Rollout, rollout.Decision{Phase: decide.PhaseComplete, Began: began, Total: 3, Updated: 3, ReadyUpdated: 3}, later)
	if !s.StartTime.Time.Equal(began) || s.CompletionTime == nil || !s.CompletionTime.Time.Equal(later) {
		t.Errorf("it ended as %+v", s)
	}
	template.Status.Rollout = s
	if s = rolloutOf(template, template.Status.Rollout, rollout.Decision{Phase: decide.PhaseComplete, Began: began, Total: 3, Updated: 3, ReadyUpdated: 3}, time.Unix(300, 0)); !s.CompletionTime.Time.Equal(later) {
		t.Errorf("its end has moved to %s", s.CompletionTime)
	}
	template.Generation = 3
	if s = rolloutOf(template, template.Status.Rollout, rollout.Decision{Phase: decide.PhaseInProgress, Began: time.Unix(400, 0)}, time.Unix(400, 0)); !s.StartTime.Time.Equal(time.Unix(400, 0)) {
		t.Errorf("the next one began at %s", s.StartTime)
	}
}

// table is the only ConfigMap of a registry.
type table string

func (t table) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if cm, is := o.(*corev1.ConfigMap); is {
		cm.Data = map[string]string{"rows.csv": string(t)}
		return nil
	}
	return errors.New("there is nothing else")
}

func (table) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("nothing is listed")
}

// The order of a document's rows may vary, which is not a change.
func TestTheOrderOfRowsIsNoChange(t *testing.T) {
	obj := hourly()
	obj.Spec.Source = tenantv1.DataSource{Type: tenantv1.SourceConfigMap, ConfigMap: &tenantv1.ConfigMapSource{Name: "table", Key: "rows.csv"}}
	obj.Spec.ValueMappings = tenantv1.ValueMappings{UID: "id", Activate: "active"}
	digest := func(text string) (string, string) {
		r := &Controller{API: &passes.API{Reader: table(text), Now: time.Now}, pool: database.NewPool(database.Options{})}
		got := r.read(t.Context(), obj)
		if got.err != nil {
			t.Fatal(got.err)
		}
		return got.digest, strings.Join(got.told, "\n")
	}
	one, told := digest("id,active\na,1\nb,1\nx,1\nx,1\n,1\ny,1\ny,1\n")
	if other, again := digest("id,active\n,1\ny,1\nx,1\nb,1\ny,1\na,1\nx,1\n"); other != one || again != told {
		t.Errorf("reported as\n%s\nand before as\n%s", again, told)
	}
	if other, _ := digest("id,active\na,1\nb,0\nx,1\nx,1\n,1\ny,1\ny,1\n"); other == one {
		t.Error("another row is nothing new")
	}
}
