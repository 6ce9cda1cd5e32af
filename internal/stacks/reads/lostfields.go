// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// lostFields says which variables of an application's stack the module does not declare (any more); nil
// for none. Users see fields, not variables: the tool would drop what they wrote with a warning that only
// the run's log has. Resources can be destroyed all the same.
func lostFields(obj *infrav1.Terraform, m *module.Module) *Problem {
	owner := metav1.GetControllerOfNoCopy(obj)
	if owner == nil || !strings.HasPrefix(owner.APIVersion, appv1.InstanceVersion.Group+"/") || obj.DeletionTimestamp != nil || obj.Spec.Destroy {
		return nil
	}
	for _, v := range obj.Spec.Vars {
		if m.Variables[v.Name] == nil {
			return &Problem{Reason: infrav1.ReasonVarsGenerationFailed, Message: fmt.Sprintf(
				"the module does not declare the variable %q, which %s %s sets: its value would be lost. Declare it again, or remove its field from the definition of %s",
				v.Name, owner.Kind, owner.Name, owner.Kind)}
		}
	}
	return nil
}
