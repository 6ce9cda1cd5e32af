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

// What OpenTofu's kubernetes backend calls its data key, labels and annotations.
const (
	dataKey            = "tfstate"
	labelState         = "tfstate"
	labelSuffix        = "tfstateSecretSuffix"
	labelWorkspace     = "tfstateWorkspace"
	labelManagedBy     = "app.kubernetes.io/managed-by"
	annotationEncoding = "encoding"
	annotationLock     = "app.terraform.io/lock-info"
)

// Key names a state: the Secret and the Lease that OpenTofu's kubernetes backend uses for a workspace and a suffix.
type Key struct {
	Namespace string
	// Workspace is "default" when empty.
	Workspace string
	// Suffix is the backend's secret_suffix; for a stack that says nothing else, its name.
	Suffix string
	// Stack is the stack's name in messages and in the commands they suggest; Suffix when empty. It identifies nothing.
	Stack string
	// UID is the stack's. A write records it as an owner of the state; empty leaves the owners as they are. It identifies
	// nothing.
	UID string
	// Scope is whose stack it is. The Secret and the Lease have it as a label, so that they are found by it, and a Secret
	// of another scope is refused. It identifies nothing.
	Scope scope.Scope
}

// KeyOfStack is the key of a stack's state, for reading it: without the stack's uid and scope.
func KeyOfStack(stack *infrav1.Terraform) Key {
	return Key{Namespace: stack.Namespace, Workspace: stack.WorkspaceName(), Suffix: stack.StateSuffix(), Stack: stack.Name}
}

// SecretName is the name of the state Secret.
func (k Key) SecretName() string { return "tfstate-" + k.workspace() + "-" + k.Suffix }

// LeaseName is the name of the Lease that is the state's lock.
func (k Key) LeaseName() string { return "lock-" + k.SecretName() }

// String is how people call the stack: NAMESPACE/NAME.
func (k Key) String() string { return k.Namespace + "/" + cmp.Or(k.Stack, k.Suffix) }

// Validate says whether Kubernetes can keep the state under the names that follow from the key.
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

// labels are those of OpenTofu's backend, and on top the configured ones, which may replace them there, too. Whose
// tenant's a state is, no configuration can say otherwise.
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

// versionsPrefix is where the blob store keeps the state's versions.
func (k Key) versionsPrefix() string { return "states/" + k.Namespace + "/" + k.SecretName() + "/" }
