// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

func TestLostFields(t *testing.T) {
	ofPhotos := func(t *infrav1.Terraform) {
		t.OwnerReferences = []metav1.OwnerReference{{APIVersion: appv1.InstanceVersion.String(), Kind: "Bucket", Name: "photos", UID: "b", Controller: new(true)}}
	}
	sets := func(names ...string) func(*infrav1.Terraform) {
		return func(t *infrav1.Terraform) {
			for _, name := range names {
				t.Spec.Vars = append(t.Spec.Vars, infrav1.Variable{Name: name, Value: &apiextensionsv1.JSON{Raw: []byte(`"secret-value"`)}})
			}
		}
	}
	m, diagnostics := module.Parse(map[string][]byte{"main.tf": []byte(`variable "size" {}`)})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	for sentence, test := range map[string]struct {
		change []func(*infrav1.Terraform)
		lost   string
	}{
		"a stack of nobody may set what it wants":                 {[]func(*infrav1.Terraform){sets("name")}, ""},
		"a Tenant's stack, too":                                   {[]func(*infrav1.Terraform){ofAcme, sets("name")}, ""},
		"an application's variables are those of its module":      {[]func(*infrav1.Terraform){ofPhotos, sets("size")}, ""},
		"a variable that the module lost":                         {[]func(*infrav1.Terraform){ofPhotos, sets("size", "name")}, "name"},
		"what is being deleted is destroyed with what is left":    {[]func(*infrav1.Terraform){ofPhotos, sets("name"), func(t *infrav1.Terraform) { t.DeletionTimestamp = &metav1.Time{} }}, ""},
		"and so is what is destroyed without being deleted first": {[]func(*infrav1.Terraform){ofPhotos, sets("name"), func(t *infrav1.Terraform) { t.Spec.Destroy = true }}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			lost := lostFields(stackObject(test.change...), m)
			switch {
			case (lost != nil) != (test.lost != ""):
				t.Errorf("lost: %v", lost)
			case lost != nil && (!strings.Contains(lost.Message, `"`+test.lost+`"`) || !strings.Contains(lost.Message, "Bucket photos") || strings.Contains(lost.Message, "secret-value")):
				t.Errorf("the message is %q", lost.Message)
			}
		})
	}
}
