// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

func lease(namespace, name, holder string, renewed time.Time, seconds *int32) *coordinationv1.Lease {
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: seconds, RenewTime: ptr.To(metav1.NewMicroTime(renewed))}}
	if holder != "" {
		l.Spec.HolderIdentity = &holder
	}
	return l
}

func TestALivingTofuControllerIsNotDisturbed(t *testing.T) {
	// Long ago, so that no other test finds one alive.
	now := time.Date(2020, 1, 1, 12, 0, 0, 0, time.UTC)
	const name = "tofu-controller-" + tofuControllerLease
	for sentence, test := range map[string]struct {
		lease   *coordinationv1.Lease
		refused bool
	}{
		"alive": {lease("", name, "pod-1", now.Add(-10*time.Second), ptr.To(int32(35))), true},
		"alive, with a lease that says no length": {lease("", name, "pod-1", now.Add(-30*time.Second), nil), true},
		"dead":                      {lease("", name, "pod-1", now.Add(-time.Minute), ptr.To(int32(35))), false},
		"stopped in an orderly way": {lease("", name, "", now.Add(-time.Second), ptr.To(int32(35))), false},
		"another controller":        {lease("", "source-controller-leader-election", "pod-1", now.Add(-time.Second), ptr.To(int32(35))), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := apitest.Client(t)
			test.lease.Namespace = apitest.Namespace(t)
			if err := c.Create(t.Context(), test.lease); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Delete(context.Background(), test.lease) }) //nolint:errcheck // goes with the API
			err := refuseCompany(t.Context(), c, now)
			if (err != nil) != test.refused {
				t.Fatalf("refused: %v", err)
			}
			if err != nil && (!strings.Contains(err.Error(), "pod-1") || !strings.Contains(err.Error(), "kubectl -n "+test.lease.Namespace+" scale")) {
				t.Errorf("refused without saying whom to stop: %v", err)
			}
		})
	}
}

func controllerOptions(t *testing.T) ControllerOptions {
	t.Helper()
	return ControllerOptions{Common: Common{DataDir: t.TempDir(), Tofu: tofutest.Tofu(t), Log: quiet(), Version: "test", Out: new(bytes.Buffer)},
		Config: apitest.API(t).RESTConfig(), ContentAddress: "127.0.0.1:0"}
}

func TestTheControllersDoNotStartBesideATofuController(t *testing.T) {
	installPrograms(t)
	c := apitest.Client(t)
	l := lease(apitest.Namespace(t), "tofu-controller-"+tofuControllerLease, "pod-1", time.Now(), ptr.To(int32(35)))
	if err := c.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	defer c.Delete(context.Background(), l) //nolint:errcheck // goes with the API
	if err := RunController(t.Context(), controllerOptions(t)); err == nil || !strings.Contains(err.Error(), "a tofu-controller is running") {
		t.Errorf("got %v", err)
	}
}

// running starts the controllers against the test's API and returns where content is served.
func running(t *testing.T, change ...func(*ControllerOptions)) string {
	t.Helper()
	installPrograms(t)
	ctx, cancel := context.WithCancel(context.Background())
	opts := controllerOptions(t)
	for _, c := range change {
		c(&opts)
	}
	ready, ended := make(chan string, 1), make(chan error, 1)
	opts.Ready = func(url string) { ready <- url }
	go func() { ended <- RunController(ctx, opts) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the controllers ended: %v", err)
		}
		// A runner outlives its server, longest when it had not asked for work yet.
		if err := proctest.End(opts.DataDir); err != nil {
			t.Error(err)
		}
	})
	select {
	case url := <-ready:
		return url
	case err := <-ended:
		ended <- nil
		t.Fatalf("the controllers ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the controllers are not ready after a minute")
	}
	return ""
}

func TestControllersAgainstSomebodyElsesAPI(t *testing.T) {
	url := running(t)
	namespace, c := apitest.Namespace(t), apitest.Client(t)
	stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "vpc"}, Spec: infrav1.TerraformSpec{
		Interval: metav1.Duration{Duration: time.Hour}, ApprovePlan: infrav1.ApprovePlanAuto,
		Inline: map[string]string{"main.tf": `output "id" { value = "vpc-1" }`}}}
	if err := c.Create(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, c, stack)

	var where corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: content.ConfigMapNamespace, Name: content.ConfigMapName}, &where); err != nil || where.Data["url"] != url {
		t.Errorf("published %v, %v; want %s", where.Data, err, url)
	}
	t.Run("an administrator, by certificate", func(t *testing.T) {
		outputs, err := contentOf(t, apitest.API(t).RESTConfig()).Outputs(t.Context(), namespace, "vpc")
		if err != nil || string(outputs["id"].Value) != `"vpc-1"` {
			t.Errorf("outputs %v, %v", outputs, err)
		}
	})
	t.Run("a shell is opened for nobody unless the server allows it", func(t *testing.T) {
		_, err := contentOf(t, apitest.API(t).RESTConfig()).Shell(t.Context(), namespace, "vpc")
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "--allow-break-the-glass") {
			t.Errorf("got %v", err)
		}
	})
	somebody := serviceAccount(t, namespace)
	t.Run("somebody without rights, by token", func(t *testing.T) {
		stranger := contentOf(t, somebody)
		eventually(t, func() error {
			_, err := stranger.Runs(t.Context(), namespace, "vpc", 0)
			if !apierrors.IsForbidden(err) || strings.Contains(err.Error(), "configmaps") {
				return fmt.Errorf("got %w", err)
			}
			return nil
		})
	})
	t.Run("nobody", func(t *testing.T) {
		nobody := &rest.Config{Host: url, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(where.Data["ca.crt"])}}
		_, err := contentOf(t, nobody).Runs(t.Context(), namespace, "vpc", 0)
		if !apierrors.IsUnauthorized(err) {
			t.Errorf("got %v", err)
		}
	})
	// The page acts as people, with the server's credentials.
	t.Run("the server as somebody without rights", func(t *testing.T) {
		as := rest.CopyConfig(apitest.API(t).RESTConfig())
		as.Impersonate = rest.ImpersonationConfig{UserName: "eve", Groups: []string{"system:authenticated"}}
		if _, err := contentOf(t, as).Runs(t.Context(), namespace, "vpc", 0); err == nil || !strings.Contains(err.Error(), "eve") {
			t.Errorf("the server's own rights were used for eve: %v", err)
		}
	})
	t.Run("somebody who may view", func(t *testing.T) {
		bind(t, c, namespace, "view")
		viewer := contentOf(t, somebody)
		eventually(t, func() error {
			runs, err := viewer.Runs(t.Context(), namespace, "vpc", 0)
			if err == nil && len(runs.Items) != 1 {
				return fmt.Errorf("%d runs", len(runs.Items))
			}
			return err
		})
		if _, err := viewer.State(t.Context(), namespace, "vpc", ""); !apierrors.IsForbidden(err) {
			t.Errorf("the state: %v", err)
		}
	})
}

// awaitReady watches a stack until it is ready.
func awaitReady(t *testing.T, c client.WithWatch, stack *infrav1.Terraform) {
	t.Helper()
	w, err := c.Watch(t.Context(), &infrav1.TerraformList{}, client.InNamespace(stack.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	deadline := time.After(time.Minute)
	for {
		select {
		case e := <-w.ResultChan():
			obj, ok := e.Object.(*infrav1.Terraform)
			if !ok {
				t.Fatalf("the watch says %+v", e.Object)
			}
			if apimeta.IsStatusConditionTrue(obj.Status.Conditions, infrav1.ConditionReady) {
				return
			}
			*stack = *obj
		case <-deadline:
			t.Fatalf("not ready after a minute: %+v", stack.Status.Conditions)
		}
	}
}

func contentOf(t *testing.T, config *rest.Config) *content.Client {
	t.Helper()
	c, err := content.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serviceAccount makes an account and returns how it speaks to the API.
func serviceAccount(t *testing.T, namespace string) *rest.Config {
	t.Helper()
	api, err := kubernetes.NewForConfig(apitest.API(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "somebody"}}
	if account, err = api.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := api.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(apitest.API(t).RESTConfig())
	config.BearerToken = token.Status.Token
	return config
}

func subject(namespace string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "somebody"}}
}

// bind gives the account a cluster role in its namespace.
func bind(t *testing.T, c client.Client, namespace, role string) {
	t.Helper()
	if err := c.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role}, Subjects: subject(namespace),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}}); err != nil {
		t.Fatal(err)
	}
}

// eventually asks until there is no error any more: a binding takes a moment to be heard of.
func eventually(t *testing.T, ask func() error) {
	t.Helper()
	tick, deadline := time.NewTicker(50*time.Millisecond), time.Now().Add(time.Minute)
	defer tick.Stop()
	for err := ask(); err != nil; err = ask() {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-tick.C
	}
}
