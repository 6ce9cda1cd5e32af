// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/scope"
)

// Names in OpenTofu's kubernetes backend: the data key, labels and annotations.
const (
	dataKey            = "tfstate"
	labelState         = "tfstate"
	labelSuffix        = "tfstateSecretSuffix"
	labelWorkspace     = "tfstateWorkspace"
	labelManagedBy     = "app.kubernetes.io/managed-by"
	annotationEncoding = "encoding"
	annotationLock     = "app.terraform.io/lock-info"
)

// Key identifies a state: the Secret and the Lease that OpenTofu's kubernetes backend uses for a
// workspace and a suffix.
type Key struct {
	Namespace string
	// Workspace is "default" if empty.
	Workspace string
	// Suffix is the backend's secret_suffix; by default the stack's name.
	Suffix string
	// Stack is the stack's name in messages and suggested commands; Suffix if empty. It is not part
	// of the identity.
	Stack string
	// UID is the uid of the stack. A write records it as an owner of the state; if empty, the
	// owners are unchanged. It is not part of the identity.
	UID string
	// Scope is the stack's tenant. The Secret and the Lease get it as a label, and a Secret of
	// another tenant is refused. It is not part of the identity.
	Scope scope.Scope
}

// KeyOfStack returns the key of a stack's state for reading, without uid and tenant.
func KeyOfStack(stack *infrav1.Terraform) Key {
	return Key{Namespace: stack.Namespace, Workspace: stack.WorkspaceName(), Suffix: stack.StateSuffix(), Stack: stack.Name}
}

// SecretName returns the name of the state Secret.
func (k Key) SecretName() string { return "tfstate-" + k.workspace() + "-" + k.Suffix }

// LeaseName returns the name of the state's lock.
func (k Key) LeaseName() string { return "lock-" + k.SecretName() }

// String returns the stack's name for people: NAMESPACE/NAME.
func (k Key) String() string { return k.Namespace + "/" + cmp.Or(k.Stack, k.Suffix) }

// Validate reports whether the names that follow from the key are valid in Kubernetes.
func (k Key) Validate() error {
	problems := validation.IsDNS1123Subdomain(k.LeaseName())
	problems = append(problems, validation.IsDNS1123Label(k.Namespace)...)
	if k.Suffix == "" {
		problems = append(problems, "the suffix is empty")
	}
	for _, value := range []string{k.workspace(), k.Suffix} {
		problems = append(problems, validation.IsValidLabelValue(value)...)
	}
	if len(problems) > 0 {
		return fmt.Errorf("name the state of %s (workspace %q, suffix %q): %s",
			k, k.workspace(), k.Suffix, strings.Join(problems, "; "))
	}
	return nil
}

func (k Key) workspace() string { return cmp.Or(k.Workspace, "default") }

// labels returns the labels of OpenTofu's backend and the configured ones, which may override them.
// Configuration cannot override the tenant.
func (k Key) labels(configured map[string]string) map[string]string {
	all := map[string]string{
		labelState:     "true",
		labelSuffix:    k.Suffix,
		labelWorkspace: k.workspace(),
		labelManagedBy: "terraform",
	}
	maps.Copy(all, configured)
	maps.Copy(all, k.Scope.Labels())
	return all
}

// versionsPrefix is the prefix of the state's versions in the blob store.
func (k Key) versionsPrefix() string { return "states/" + k.Namespace + "/" + k.SecretName() + "/" }
