// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BackendStatus says where a stack's state is, with the configuration that reaches it. It refers to
// Secrets, and contains none of their values.
type BackendStatus struct {
	// Where the state is, without credentials, such as s3 bucket=states key=network.tfstate.
	// +required
	Location string `json:"location"`

	// The backend's configuration, as in spec.backendConfig.
	// +optional
	BackendConfig *BackendConfigSpec `json:"backendConfig,omitempty"`

	// The sources of its settings, as in spec.backendConfigsFrom.
	// +listType=atomic
	// +optional
	BackendConfigsFrom []BackendConfigsReference `json:"backendConfigsFrom,omitempty"`

	// The cloud block, as in spec.cloud, without the token.
	// +optional
	Cloud *CloudSpec `json:"cloud,omitempty"`
}

// ManagedLocation is the location of states that Yuba keeps.
const ManagedLocation = "yuba"

// StateLocation says where the state is, if that is known. A serial is that of a state which Yuba
// keeps, whether an apply, an adoption or a push wrote it.
func (t *Terraform) StateLocation() (location string, known bool) {
	switch status := &t.Status; {
	case status.Backend != nil:
		return status.Backend.Location, true
	case status.StateSerial != nil && *status.StateSerial > 0:
		return ManagedLocation, true
	}
	return "", false
}

// BackendAt describes the backend of the spec, whose state is at the location.
func (t *Terraform) BackendAt(location string) *BackendStatus {
	spec := t.Spec.DeepCopy()
	if spec.Cloud != nil {
		spec.Cloud.Token = ""
	}
	return &BackendStatus{Location: location, BackendConfig: spec.BackendConfig, BackendConfigsFrom: spec.BackendConfigsFrom, Cloud: spec.Cloud}
}

// WithBackend returns a copy of the stack that keeps its state there. nil means that Yuba keeps it.
func (t *Terraform) WithBackend(b *BackendStatus) *Terraform {
	if b == nil {
		b = &BackendStatus{}
	}
	was := t.Spec.Cloud
	t, b = t.DeepCopy(), b.DeepCopy()
	t.Spec.BackendConfig, t.Spec.BackendConfigsFrom, t.Spec.Cloud = b.BackendConfig, b.BackendConfigsFrom, b.Cloud
	if t.Spec.Cloud != nil && was != nil && was.Hostname == t.Spec.Cloud.Hostname { // the status has no token
		t.Spec.Cloud.Token = was.Token
	}
	return t
}

// StateTakeover names a deleted stack that left its state behind.
type StateTakeover struct {
	// The name of the deleted stack. Its namespace is the stack's own.
	// +required
	Name string `json:"name"`

	// The UID of the deleted stack.
	// +required
	UID string `json:"uid"`

	// When the stack was deleted, if known.
	// +optional
	DeletedAt *metav1.Time `json:"deletedAt,omitempty"`
}
