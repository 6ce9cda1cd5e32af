// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"encoding/json"
	"fmt"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// NeedsPlan reports whether a type of payload contains the plan.
func NeedsPlan(kind string) bool { return kind != infrav1.WebhookPayloadSpecOnly }

// Payload is the message to a service. The plan may be nil if NeedsPlan returns false.
func Payload(kind string, obj *infrav1.Terraform, plan json.RawMessage) ([]byte, error) {
	switch kind {
	case "", infrav1.WebhookPayloadSpecAndPlan:
		object, err := withoutStatus(obj)
		if err != nil {
			return nil, err
		}
		object["status"], err = json.Marshal(map[string]json.RawMessage{"tfplan": plan})
		if err != nil {
			return nil, fmt.Errorf("write the payload: %w", err)
		}
		return encode(object)
	case infrav1.WebhookPayloadSpecOnly:
		object, err := withoutStatus(obj)
		if err != nil {
			return nil, err
		}
		return encode(object)
	case infrav1.WebhookPayloadPlanOnly:
		return plan, nil
	}
	return nil, fmt.Errorf("unknown payload type: %s", kind)
}

// withoutStatus is the object without its status.
func withoutStatus(obj *infrav1.Terraform) (map[string]json.RawMessage, error) {
	author := obj.DeepCopy()
	author.SetGroupVersionKind(infrav1.GroupVersion.WithKind(infrav1.Kind))
	author.ManagedFields = nil
	text, err := json.Marshal(author)
	if err != nil {
		return nil, fmt.Errorf("write the payload: %w", err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, fmt.Errorf("write the payload: %w", err)
	}
	delete(object, "status")
	return object, nil
}

func encode(object map[string]json.RawMessage) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write the payload: %w", err)
	}
	return text, nil
}
