// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/testkit/fluxtest"
)

func jsonValue(v any) *apiextensionsv1.JSON {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return &apiextensionsv1.JSON{Raw: text}
}

// A cluster where tofu-controller worked gets the chart. Each obstacle is named, no object is
// deleted, and the first pass of each stack creates nothing again.
func TestTheChartTakesOverTheObjectsOfATofuController(t *testing.T) {
	values := uninstall(t)
	do(t, string(fluxtest.TofuController(t)), "yuba", "kubectl", "apply", "--server-side", "--field-manager=tofu-controller", "-f", "-")
	eventually(t, "the definition is established", func() string {
		d := definition(t)
		for _, c := range d.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return ""
			}
		}
		return fmt.Sprint(d.Status.Conditions)
	})
	l := newLegacy(t)

	t.Run("a definition that is newer than Yuba's", l.refusesANewerDefinition(values))
	l.untouched("after a refused installation")
	t.Run("a tofu-controller that is alive", l.refusesALivingTofuController(values))

	installYuba(t, values)
	l.goesOn()
	if versions := definition(t).Spec.Versions; !slices.ContainsFunc(versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		_, inline := v.Schema.OpenAPIV3Schema.Properties["spec"].Properties["inline"]
		return inline
	}) {
		t.Error("the definition is not Yuba's")
	}
	t.Run("a second release of Yuba", refusesASecondRelease)
	t.Run("the definition of tofu-controller again", l.refusesTheOldDefinition)
	l.goesOn()
}

func (l *legacy) refusesANewerDefinition(values string) func(*testing.T) {
	return func(t *testing.T) {
		changeDefinition(t, func(spec map[string]apiextensionsv1.JSONSchemaProps) {
			spec["futureField"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		})
		out, ok := command(t, values, "helm", "install", "yuba", "charts/yuba", "--namespace", system, "--values", "-", "--timeout", "2m")
		if missing := lacks(out, "yuba-crds"); ok || missing != nil {
			t.Errorf("helm lacks %q:\n%s", missing, out)
		}
		log := do(t, "", "yuba", "kubectl", "logs", "--namespace", system, "job/yuba-crds")
		if missing := lacks(log, stacksDefinition+" cannot be replaced", "spec.futureField", "Nothing was changed"); missing != nil {
			t.Errorf("the Job lacks %q:\n%s", missing, log)
		}
		if _, there := definition(t).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["futureField"]; !there {
			t.Error("the definition was replaced")
		}
		changeDefinition(t, func(spec map[string]apiextensionsv1.JSONSchemaProps) { delete(spec, "futureField") })
	}
}

func (l *legacy) refusesALivingTofuController(values string) func(*testing.T) {
	return func(t *testing.T) {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "tofu-controller-1953de50.contrib.fluxcd.io"}, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("tofu-controller-0"), LeaseDurationSeconds: ptr.To(int32(600)), RenewTime: ptr.To(metav1.NowMicro())}}
		l.create(lease)
		t.Cleanup(func() {
			must(t, client.IgnoreNotFound(api.Delete(context.WithoutCancel(t.Context()), lease)))
		})
		do(t, values, "helm", "upgrade", "--install", "yuba", "charts/yuba", "--namespace", system, "--values", "-", "--timeout", "2m")
		eventually(t, "the log says that a tofu-controller runs", func() string {
			log := controllersLog(t)
			if missing := lacks(log, "a tofu-controller is running on this API (tofu-controller-0", "scale deployment tofu-controller --replicas=0"); missing != nil {
				return fmt.Sprintf("it lacks %q:\n%s", missing, log)
			}
			return ""
		})
		l.untouched("beside a living tofu-controller")
	}
}

// A second release finds the cluster's objects of the first.
func refusesASecondRelease(t *testing.T) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "second-"}}
	must(t, api.Create(t.Context(), ns))
	t.Cleanup(func() { must(t, api.Delete(context.WithoutCancel(t.Context()), ns)) })
	out, ok := command(t, "", "helm", "install", "second", "charts/yuba", "--namespace", ns.Name, "--set", "image.pullPolicy=Never", "--timeout", "30s")
	if missing := lacks(out, "invalid ownership metadata"); ok || missing != nil {
		t.Errorf("helm lacks %q:\n%s", missing, out)
	}
}

// tofu-controller's chart, or "kubectl apply", brings its definition back.
func (l *legacy) refusesTheOldDefinition(t *testing.T) {
	theirs := string(fluxtest.TofuController(t))
	out, ok := command(t, theirs, "yuba", "kubectl", "apply", "--server-side", "--field-manager=tofu-controller", "-f", "-")
	if missing := lacks(out, "conflict", `"yuba"`); ok || missing != nil {
		t.Errorf("without force, the API lacks %q:\n%s", missing, out)
	}
	do(t, theirs, "yuba", "kubectl", "apply", "--server-side", "--field-manager=tofu-controller", "--force-conflicts", "-f", "-")
	eventually(t, "the controllers end and say why", func() string {
		log := controllersLog(t)
		if missing := lacks(log, "the API serves tofu-controller's version of the kind Terraform", "yuba crds install"); missing != nil {
			return fmt.Sprintf("the log lacks %q", missing)
		}
		return ""
	})
	check := do(t, "", "yuba", "crds", "check")
	if missing := lacks(check, "replace"); missing != nil {
		t.Errorf("yuba crds check says:\n%s", check)
	}
	do(t, "", "yuba", "crds", "install")
}
