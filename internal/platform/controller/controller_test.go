// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/platform/controller"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// world is a namespace; the controller of platforms works in it, and no other.
type world struct {
	*testing.T
	client.Client
	namespace string
}

var once struct {
	sync.Once
	err error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	once.Do(func() { once.err = start(t) })
	if once.err != nil {
		t.Fatal(once.err)
	}
	return &world{T: t, Client: apitest.Client(t), namespace: apitest.Namespace(t)}
}

func start(t *testing.T) error {
	ctrl.SetLogger(logr.Discard())
	mgr, err := ctrl.NewManager(apitest.API(t).RESTConfig(), ctrl.Options{Scheme: kubetest.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	ctx := context.Background() // not that of one test
	r := &controller.Reconciler{Client: mgr.GetClient(), Direct: apitest.Client(t), Events: mgr.GetEventRecorder("yuba"), Resolve: answers.check, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	if err := r.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	go mgr.Start(ctx) //nolint:errcheck // it ends with the test binary
	return nil
}

// platform creates a platform.
func (w *world) platform(name, fqdn string, changes ...func(*yubav1.PlatformSpec)) *yubav1.Platform {
	w.Helper()
	p := &yubav1.Platform{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Spec: w.spec(fqdn)}
	for _, change := range changes {
		change(&p.Spec)
	}
	if err := w.Create(w.Context(), p); err != nil {
		w.Fatal(err)
	}
	return p
}

// spec is a blueprint with one region.
func (w *world) spec(fqdn string) yubav1.PlatformSpec {
	return yubav1.PlatformSpec{
		Organization: yubav1.PlatformOrganization{Name: "acme"}, Domain: yubav1.PlatformDomain{FQDN: fqdn},
		Library:    &yubav1.PlatformLibrary{SourceRef: yubav1.PlatformSourceReference{Kind: "ExternalArtifact", Name: "modules"}},
		Regions:    []yubav1.PlatformRegion{{Name: "eu", Provider: "local"}},
		Components: []yubav1.PlatformComponent{{Name: "vault"}},
	}
}

// domain is a DNS name that no other test has.
func (w *world) domain() string { return w.namespace + ".example.org" }

func (w *world) eventually(what string, wrong func() string) {
	w.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		is := wrong()
		if is == "" {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s; but: %s", what, is)
		}
	}
}

// await waits for a reason of a platform.
func (w *world) await(p *yubav1.Platform, reason, message string) {
	w.Helper()
	w.eventually(p.Name+" is "+reason+": "+message, func() string {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(p), p); err != nil {
			return err.Error()
		}
		c := conditions.Of(p, infrav1.ConditionReady)
		if c.Reason != reason || !strings.Contains(c.Message, message) || p.Status.ObservedGeneration != p.Generation {
			return c.Reason + ": " + c.Message
		}
		return ""
	})
}

func (w *world) change(p *yubav1.Platform, how func(*yubav1.PlatformSpec)) {
	w.Helper()
	before := p.DeepCopy()
	how(&p.Spec)
	if err := w.Patch(w.Context(), p, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

// stack reads a stack; nil if there is none.
func (w *world) stack(name string) *infrav1.Terraform {
	w.Helper()
	t := &infrav1.Terraform{}
	err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, t)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return t
}

// becomes writes the status of a stack, as its controller does.
func (w *world) becomes(name string, status metav1.ConditionStatus, reason, pending string) {
	w.Helper()
	t := w.stack(name)
	t.Status.ObservedGeneration, t.Status.Plan.Pending = t.Generation, pending
	t.Status.LastRun = &infrav1.RunReference{ID: "run-of-" + name}
	conditions.Set(t, infrav1.ConditionReady, status, reason, "said by "+name)
	if err := w.Status().Update(w.Context(), t); err != nil {
		w.Fatal(err)
	}
}

var all = []string{"network", "machines", "kubernetes", "gitops", "vault"}

func TestPhasesBecomeStacksInTheirOrder(t *testing.T) {
	w := newWorld(t)
	p := w.platform("acme", w.domain())
	w.await(p, yubav1.ReasonPlatformProgressing, "0/5 ready")
	before := ""
	for _, phase := range all {
		stack := w.stack("acme-eu-" + phase)
		if stack == nil {
			t.Fatalf("there is no stack of %s", phase)
		}
		if before != "" && (len(stack.Spec.DependsOn) == 0 || stack.Spec.DependsOn[0].Name != before) || stack.Spec.ApprovePlan != "" || stack.Spec.DestroyResourcesOnDeletion || len(stack.OwnerReferences) > 0 {
			t.Errorf("the stack of %s depends on %v, approves %q, owners %v", phase, stack.Spec.DependsOn, stack.Spec.ApprovePlan, stack.OwnerReferences)
		}
		before = stack.Name
	}
	w.becomes("acme-eu-network", metav1.ConditionUnknown, infrav1.ReasonPlannedWithChanges, "plan-1")
	w.await(p, yubav1.ReasonPlatformApproval, "yuba approve acme-eu-network")
	if got := p.Status.Phases[0]; got.State != yubav1.PhaseAwaitingApproval || got.Plan != "plan-1" || got.StartedAt == nil {
		t.Errorf("the phase is %+v", got)
	}
	for _, phase := range all {
		w.becomes("acme-eu-"+phase, metav1.ConditionTrue, infrav1.ReasonOutputsWritten, "")
	}
	w.await(p, yubav1.ReasonPlatformReady, "All 5 phases are ready")
	if p.Status.CompletedAt == nil || p.Status.Progress != "5/5" || p.Status.Phases[4].ReadyAt == nil {
		t.Errorf("status %+v", p.Status)
	}
	w.becomes("acme-eu-machines", metav1.ConditionFalse, infrav1.ReasonApplyFailed, "")
	w.await(p, yubav1.ReasonPlatformPhaseFailed, "eu/machines failed: said by acme-eu-machines")
}

// An approval is a change of the stack by a person, which a platform must not undo. Other changes are undone.
func TestAnApprovalSurvives(t *testing.T) {
	w := newWorld(t)
	p := w.platform("acme", w.domain())
	w.await(p, yubav1.ReasonPlatformProgressing, "")
	stack := w.stack("acme-eu-network")
	before := stack.DeepCopy()
	stack.Spec.ApprovePlan, stack.Spec.Path = "plan-1", "./elsewhere"
	if err := w.Patch(t.Context(), stack, client.MergeFrom(before), client.FieldOwner("a-person")); err != nil {
		t.Fatal(err)
	}
	w.eventually("the path is as the blueprint says", func() string {
		if path := w.stack("acme-eu-network").Spec.Path; path != "./local/network" {
			return path
		}
		return ""
	})
	if got := w.stack("acme-eu-network").Spec.ApprovePlan; got != "plan-1" {
		t.Errorf("the approval is %q", got)
	}
	// Another approval policy is written, in both directions.
	for _, c := range []struct {
		approval yubav1.PlatformApproval
		want     string
	}{{yubav1.ApprovalAuto, "auto"}, {yubav1.ApprovalManual, ""}} {
		w.change(p, func(s *yubav1.PlatformSpec) { s.Approval = c.approval })
		w.eventually(fmt.Sprintf("approvePlan is %q", c.want), func() string {
			if got := w.stack("acme-eu-network").Spec.ApprovePlan; got != c.want {
				return fmt.Sprintf("%q", got)
			}
			return ""
		})
	}
}

func TestWhatABlueprintLosesIsRemoved(t *testing.T) {
	for removal, destroys := range map[yubav1.PlatformRemoval]bool{yubav1.RemovalDestroy: true, yubav1.RemovalKeep: false} {
		t.Run(string(removal), func(t *testing.T) {
			w := newWorld(t)
			p := w.platform("acme", w.domain(), func(s *yubav1.PlatformSpec) { s.Removal = removal })
			w.await(p, yubav1.ReasonPlatformProgressing, "")
			held := w.stack("acme-eu-vault")
			before := held.DeepCopy()
			held.Finalizers = []string{infrav1.Finalizer} // as its controller sets it
			if err := w.Patch(t.Context(), held, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
			w.change(p, func(s *yubav1.PlatformSpec) { s.Components = nil })
			w.await(p, yubav1.ReasonPlatformRemoving, "Removing eu/vault")
			w.eventually("the stack is being deleted", func() string {
				if s := w.stack("acme-eu-vault"); s.DeletionTimestamp == nil || s.Spec.DestroyResourcesOnDeletion != destroys {
					return fmt.Sprintf("deletion %v, destroys %v", s.DeletionTimestamp, s.Spec.DestroyResourcesOnDeletion)
				}
				return ""
			})
			w.eventually("the status says what is left", func() string {
				if err := w.Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil || len(p.Status.Remaining) != 1 || p.Status.Remaining[0].Phase != "eu/vault" {
					return fmt.Sprint(err, p.Status.Remaining)
				}
				return ""
			})
			held = w.stack("acme-eu-vault")
			before = held.DeepCopy()
			held.Finalizers = nil
			if err := w.Patch(t.Context(), held, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
			w.await(p, yubav1.ReasonPlatformProgressing, "0/4 ready")
		})
	}
}

func TestADeletedPlatformLeavesItsStacks(t *testing.T) {
	w := newWorld(t)
	p := w.platform("acme", w.domain())
	w.await(p, yubav1.ReasonPlatformProgressing, "")
	if err := w.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	w.eventually("the platform is gone", func() string {
		err := w.Get(t.Context(), client.ObjectKeyFromObject(p), p)
		if !apierrors.IsNotFound(err) {
			return fmt.Sprint(err)
		}
		return ""
	})
	if s := w.stack("acme-eu-network"); s == nil || s.DeletionTimestamp != nil || s.Labels[yubav1.LabelPlatform] != "" {
		t.Errorf("the stack is %v", s)
	}
	// A platform of that name does not take them without being told.
	again := w.platform("acme", w.domain())
	w.await(again, yubav1.ReasonPlatformNameTaken, "The stack acme-eu-network exists and does not belong to this platform")
}

func TestADecommissionedPlatformEnds(t *testing.T) {
	w := newWorld(t)
	p := w.platform("acme", w.domain())
	w.await(p, yubav1.ReasonPlatformProgressing, "")
	w.change(p, func(s *yubav1.PlatformSpec) { s.Decommission = true })
	w.await(p, yubav1.ReasonPlatformDecommissioned, "Nothing of the platform is left")
	for _, phase := range all {
		if w.stack("acme-eu-"+phase) != nil {
			t.Errorf("the stack of %s is there", phase)
		}
	}
}

func TestOnePlatformHasAName(t *testing.T) {
	w := newWorld(t)
	first := w.platform("first", w.domain())
	w.await(first, yubav1.ReasonPlatformProgressing, "")
	second := w.platform("second", w.domain())
	w.await(second, yubav1.ReasonPlatformDomainTaken, "The platform first has the same DNS name: it was first, and may begin until ")
	if w.stack("second-eu-network") != nil {
		t.Error("the second platform has stacks")
	}
	w.change(first, func(s *yubav1.PlatformSpec) { s.Decommission = true })
	w.await(first, yubav1.ReasonPlatformDecommissioned, "")
	// Nothing of it is left, so the name is free, although the object is still there.
	w.await(second, yubav1.ReasonPlatformProgressing, "0/5 ready")
}

func TestNothingIsMadeWithoutCredentials(t *testing.T) {
	w := newWorld(t)
	p := w.platform("acme", w.domain(), func(s *yubav1.PlatformSpec) { s.Regions[0].CredentialsRef = &meta.LocalObjectReference{Name: "hcloud"} })
	w.await(p, yubav1.ReasonPlatformCredentials, "The Secret hcloud does not exist")
	if w.stack("acme-eu-network") != nil {
		t.Error("there are stacks")
	}
	if err := w.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "hcloud"}, StringData: map[string]string{"HCLOUD_TOKEN": "x"}}); err != nil {
		t.Fatal(err)
	}
	w.await(p, yubav1.ReasonPlatformProgressing, "0/5 ready")
}

// The tokens of machines are made once, and are in no spec.
func TestTokensAreMadeOnce(t *testing.T) {
	w := newWorld(t)
	p := w.platform("acme", w.domain())
	w.await(p, yubav1.ReasonPlatformProgressing, "")
	read := func() string {
		var s corev1.Secret
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "acme-eu-machine-tokens"}, &s); err != nil {
			t.Fatal(err)
		}
		return string(s.Data["join_token"])
	}
	token := read()
	w.change(p, func(s *yubav1.PlatformSpec) { s.Regions[0].Workers = 2 })
	w.eventually("the change has arrived", func() string {
		for _, v := range w.stack("acme-eu-machines").Spec.Vars {
			if v.Name == "workers" && string(v.Value.Raw) == "2" {
				return ""
			}
			if v.Value != nil && strings.Contains(string(v.Value.Raw), token) {
				t.Fatal("the token is in a spec")
			}
		}
		return "the stack has other variables"
	})
	if len(token) != 64 || read() != token {
		t.Errorf("the token has %d characters, or has changed", len(token))
	}
}
