// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/secrets/declare"
)

func reading(secret string) *infrav1.Terraform {
	t := &infrav1.Terraform{}
	t.Namespace, t.Name = "prod", "app"
	if secret != "" {
		t.Spec.VarsFrom = []infrav1.VarsReference{{Kind: "Secret", Name: secret}}
	}
	return t
}

func TestWhichStacksAFileConcerns(t *testing.T) {
	deleted := reading("shop")
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	secret := func(namespace string) *declare.File {
		return &declare.File{Store: declare.Store{Vault: &declare.Vault{}}, Copies: []declare.Store{{Kubernetes: &declare.Kubernetes{Namespace: namespace, Name: "shop"}}}}
	}
	for sentence, test := range map[string]struct {
		stack *infrav1.Terraform
		file  *declare.File
		want  bool
	}{
		"it reads the Secret":                        {reading("shop"), secret("prod"), true},
		"it reads it, and the file has no namespace": {reading("shop"), secret(""), true},
		"it reads one of another namespace":          {reading("shop"), secret("staging"), false},
		"it reads another one":                       {reading("other"), secret(""), false},
		"it reads none any more":                     {reading(""), secret(""), false},
		"it is being deleted":                        {deleted, secret("prod"), false},
		"the file names it":                          {reading(""), &declare.File{Dependents: []string{"prod/app"}}, true},
		"the file names it without a namespace":      {reading(""), &declare.File{Dependents: []string{"app"}}, true},
		"the file names one of another namespace":    {reading(""), &declare.File{Dependents: []string{"staging/app"}}, false},
	} {
		if got := concerns(test.stack, test.file); got != test.want {
			t.Errorf("%s: got %v", sentence, got)
		}
	}
}
