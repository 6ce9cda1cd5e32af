// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FailoverRecordKind is the name of the kind.
const FailoverRecordKind = "FailoverRecord"

// AnnotationTakeOverWrite lets a FailoverRecord or a SubdomainClaim take its name from a copy of itself, in another home. Its value is the write that the
// TXT record beside the name has.
const AnnotationTakeOverWrite = "yuba.dev/take-over-write"

// FailoverRecordFinalizer is on records that are published: deletion removes them from the DNS server first.
const FailoverRecordFinalizer = "yuba.dev/failover-record"

// FailoverRecord is a DNS name whose answer depends on which endpoints are up: the PowerDNS server
// checks them and answers with those that are. Yuba writes the record (PowerDNS' type LUA), verifies
// it by asking the server, and shows what the name answers.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Host",type="string",JSONPath=".spec.host",description="The DNS name."
// +kubebuilder:printcolumn:name="Placement",type="string",JSONPath=".spec.placement",description="How endpoints are chosen."
// +kubebuilder:printcolumn:name="Answer",type="string",JSONPath=".status.answer",description="The last answer of the server."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created."
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the record is published and answers."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="The message of the condition Ready."
type FailoverRecord struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The name, its endpoints, how they are checked, and the server.
	Spec FailoverRecordSpec `json:"spec"`

	// The observed state. The server writes it.
	// +optional
	Status FailoverRecordStatus `json:"status,omitempty,omitzero"`
}

// FailoverPlacement says how endpoints are chosen.
// +kubebuilder:validation:Enum=ActivePassive;ActiveActive;Geo;Weighted
type FailoverPlacement string

const (
	// PlacementActivePassive answers with the endpoints of the lowest priority that are up.
	PlacementActivePassive FailoverPlacement = "ActivePassive"
	// PlacementActiveActive answers with all endpoints that are up.
	PlacementActiveActive FailoverPlacement = "ActiveActive"
	// PlacementGeo answers with the endpoint that is up and closest to the client.
	PlacementGeo FailoverPlacement = "Geo"
	// PlacementWeighted answers with one of the endpoints that are up, by their weights.
	PlacementWeighted FailoverPlacement = "Weighted"
)

// FailoverSelector says which addresses of the chosen endpoints an answer has.
// +kubebuilder:validation:Enum=All;Random;Hashed
type FailoverSelector string

const (
	// SelectAll answers with all of them.
	SelectAll FailoverSelector = "All"
	// SelectRandom answers with one of them, another one each time.
	SelectRandom FailoverSelector = "Random"
	// SelectHashed answers with one of them, always the same for the same client.
	SelectHashed FailoverSelector = "Hashed"
)

// FailoverRecordSpec is the desired state of a failover record.
//
// +kubebuilder:validation:XValidation:rule="self.placement != 'Weighted' || self.endpoints.all(e, has(e.weight))",message="placement Weighted needs a weight for each endpoint"
// +kubebuilder:validation:XValidation:rule="self.placement == 'Weighted' || !self.endpoints.exists(e, has(e.weight))",message="weights are for placement Weighted"
// +kubebuilder:validation:XValidation:rule="self.placement == 'ActivePassive' || !self.endpoints.exists(e, has(e.priority))",message="priorities are for placement ActivePassive"
// +kubebuilder:validation:XValidation:rule="self.placement != 'ActivePassive' || has(self.check)",message="placement ActivePassive needs spec.check: without it, nothing fails over"
// +kubebuilder:validation:XValidation:rule="self.placement != 'Geo' || !has(self.selector)",message="placement Geo selects the closest endpoint: remove spec.selector"
// +kubebuilder:validation:XValidation:rule="self.placement != 'Weighted' || !has(self.selector) || self.selector != 'All'",message="placement Weighted answers with one endpoint: spec.selector is Hashed or Random"
type FailoverRecordSpec struct {
	// The DNS name, such as www.example.org, without the final dot. It may begin with "*." for all
	// names below a name.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=240
	// +kubebuilder:validation:Pattern=`^(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the name cannot change: create another FailoverRecord, and delete this one when clients use the new name"
	Host string `json:"host"`

	// How many seconds resolvers may keep an answer. It adds to the time that a failover takes.
	// +kubebuilder:default:=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	TTL int32 `json:"ttl,omitempty"`

	// How endpoints are chosen. ActivePassive: those of the lowest priority that are up. ActiveActive:
	// all that are up. Geo: the closest one that is up; the server needs the geoip backend. Weighted:
	// one that is up, by the weights.
	Placement FailoverPlacement `json:"placement"`

	// The addresses of the chosen endpoints in an answer: All (the default), Random (one of them), or
	// Hashed (one of them, always the same one for the same client). With placement Weighted: Hashed
	// (the default) or Random.
	// +optional
	Selector FailoverSelector `json:"selector,omitempty"`

	// The addresses in an answer while no endpoint is up: All (the default), Random (one of them), or
	// Hashed (one of them, always the same one for the same client).
	// +optional
	WhenAllDown FailoverSelector `json:"whenAllDown,omitempty"`

	// The endpoints that the name leads to.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Endpoints []FailoverEndpoint `json:"endpoints"`

	// How the server checks whether an endpoint is up. Without it, all endpoints count as up.
	// +optional
	Check *FailoverCheck `json:"check,omitempty"`

	// Where the record is written.
	Publish FailoverPublish `json:"publish"`

	// How often Yuba compares the record on the server and asks for its answer.
	// +kubebuilder:default:="1m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	Interval metav1.Duration `json:"interval,omitempty"`

	// Stop writing and asking. The record stays on the server as it is.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// FailoverEndpoint is one place that serves the name.
type FailoverEndpoint struct {
	// The name of the endpoint in statuses and commands, such as eu-1.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	Name string `json:"name"`

	// Its IPv4 and IPv6 addresses.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=45
	// +listType=set
	Addresses []string `json:"addresses"`

	// With placement ActivePassive: the endpoints with the lowest number are primary, the next ones
	// their replacement. Defaults to 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Priority *int32 `json:"priority,omitempty"`

	// With placement Weighted: its share of the clients, relative to the sum of the weights. 0 takes
	// it out.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Weight *int32 `json:"weight,omitempty"`
}

// FailoverCheck says how the server checks endpoints.
//
// +kubebuilder:validation:XValidation:rule="has(self.http) != has(self.tcp)",message="a check has either http or tcp"
type FailoverCheck struct {
	// An endpoint is up if this URL, requested from its address, answers with status 200.
	// +optional
	HTTP *FailoverHTTPCheck `json:"http,omitempty"`

	// An endpoint is up if its address accepts connections to this port.
	// +optional
	TCP *FailoverTCPCheck `json:"tcp,omitempty"`

	// How many seconds a check may take. Defaults to the server's 2.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// How many seconds are between checks. Needs PowerDNS 5; older servers check as often as their
	// setting lua-health-checks-interval says, which defaults to 5.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	// +optional
	IntervalSeconds int32 `json:"intervalSeconds,omitempty"`

	// How many checks in a row must fail before an endpoint counts as down. Defaults to 1. More than 1
	// needs PowerDNS 5.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MinimumFailures int32 `json:"minimumFailures,omitempty"`
}

// FailoverHTTPCheck requests a URL.
type FailoverHTTPCheck struct {
	// The URL. The server connects to the address of each endpoint, and sends the URL's host. It must
	// not contain credentials: the record is public.
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[^\s@]+$`
	URL string `json:"url"`

	// A text that the answer must contain.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Contains string `json:"contains,omitempty"`

	// The User-Agent of the requests. Defaults to the server's.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	UserAgent string `json:"userAgent,omitempty"`
}

// FailoverTCPCheck connects to a port.
type FailoverTCPCheck struct {
	// The port.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}

// FailoverPublish says where the record is written.
//
// +kubebuilder:validation:XValidation:rule="has(self.powerDNS) != has(self.dnsEndpoint)",message="a record is published by either powerDNS or dnsEndpoint"
type FailoverPublish struct {
	// The PowerDNS authoritative server.
	// +optional
	PowerDNS PowerDNSServer `json:"powerDNS,omitzero"`

	// Write an object DNSEndpoint of external-dns instead, whose PowerDNS provider writes the record. Its definition must
	// accept the record type LUA, and external-dns needs --source=crd and --managed-record-types=LUA.
	// +optional
	DNSEndpoint *DNSEndpointPublish `json:"dnsEndpoint,omitempty"`
}

// DNSEndpointPublish says how external-dns publishes a record.
type DNSEndpointPublish struct {
	// Labels of the DNSEndpoint, for external-dns' --label-filter.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// The service account of this namespace that publishes. It needs the verbs create and update on dnsendpoints of the group
	// externaldns.k8s.io in this namespace.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:default:=default
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Where the server answers DNS queries, as HOST:PORT, to verify the record. Without it, the record counts as published
	// when external-dns has observed the DNSEndpoint.
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:Pattern=`^[^\s/@]+:[0-9]+$`
	// +optional
	Nameserver string `json:"nameserver,omitempty"`
}

// PowerDNSServer is the HTTP API of a PowerDNS authoritative server.
type PowerDNSServer struct {
	// The URL of its API, such as https://dns.example.org:8081.
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https?://[^\s@?#]+$`
	URL string `json:"url"`

	// The Secret with the API key under api-key, and optionally, for a URL with https, the CA's
	// certificate under ca.crt.
	SecretRef meta.LocalObjectReference `json:"secretRef"`

	// The zone. Defaults to the server's longest one that the name is in.
	// +kubebuilder:validation:MaxLength=240
	// +kubebuilder:validation:Pattern=`^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`
	// +optional
	Zone string `json:"zone,omitempty"`

	// Identifies this Yuba server in the TXT record below _yuba that names the owner of a record. Servers
	// that write into the same zone need different ones.
	// +kubebuilder:default:="default"
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$`
	// +optional
	OwnerID string `json:"ownerID,omitempty"`

	// Where the server answers DNS queries, as HOST:PORT, to verify the record. Defaults to the host of
	// the URL and port 53.
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:Pattern=`^[^\s/@]+:[0-9]+$`
	// +optional
	Nameserver string `json:"nameserver,omitempty"`
}

// FailoverRecordStatus is the observed state of a failover record.
type FailoverRecordStatus struct {
	// The generation of the object that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The request of the annotation reconcile.fluxcd.io/requestedAt that was handled last.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// The zone that has the record.
	// +optional
	Zone string `json:"zone,omitempty"`

	// Where the records are, or may be: the present place first, then former ones whose records are not removed yet.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Places []FailoverPlace `json:"places,omitempty"`

	// Identify the last writes of the object, the newest last. The TXT record beside the name has the last one; another one there
	// means that a copy of the object has written since.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +optional
	Writes []string `json:"writes,omitempty"`

	// The version of the PowerDNS server that has the record.
	// +optional
	ServerVersion string `json:"serverVersion,omitempty"`

	// The content of the records of type LUA, as the server has it.
	// +listType=atomic
	// +optional
	Records []string `json:"records,omitempty"`

	// The addresses that the server answered last, comma-separated.
	// +optional
	Answer string `json:"answer,omitempty"`

	// When the answer last changed.
	// +optional
	AnswerChangedAt *metav1.Time `json:"answerChangedAt,omitempty"`

	// The state of the endpoints, as far as the answers show it.
	// +listType=map
	// +listMapKey=name
	// +optional
	Endpoints []FailoverEndpointStatus `json:"endpoints,omitempty"`

	// Warnings, such as options that the version of the server does not have.
	// +listType=atomic
	// +optional
	Warnings []string `json:"warnings,omitempty"`

	// The last time that Yuba found records that somebody else had changed, and wrote them again.
	// +optional
	LastRepair *FailoverRepair `json:"lastRepair,omitempty"`

	// The condition Ready: True while the record is on the server and answers with endpoints.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FailoverRepair is a repair of records.
type FailoverRepair struct {
	// When Yuba found them.
	At metav1.MicroTime `json:"at"`
	// The records as they were, such as "www.example.org LUA was missing".
	// +listType=atomic
	Records []string `json:"records"`
}

// FailoverPlace is a zone of a server that has records of the object, or had them.
type FailoverPlace struct {
	// The URL of the server's API.
	URL string `json:"url"`
	// The name of the Secret with the API key.
	Secret string `json:"secret"`
	// The zone.
	Zone string `json:"zone"`
	// The ownerID in the record beside the name.
	OwnerID string `json:"ownerID"`
	// For a former place, the writes that its server may have: status.writes of the time when another place became the present one.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +optional
	Writes []string `json:"writes,omitempty"`
}

// FailoverEndpointStatus is what the answers tell of an endpoint.
type FailoverEndpointStatus struct {
	// The name of the endpoint.
	Name string `json:"name"`
	// Up, Down, or Unknown if the answer does not tell.
	State FailoverState `json:"state"`
}

// FailoverState is the state of an endpoint.
type FailoverState string

const (
	// EndpointUp: the server's check succeeds.
	EndpointUp FailoverState = "Up"
	// EndpointDown: the server's check fails.
	EndpointDown FailoverState = "Down"
	// EndpointUnknown: the answer does not tell.
	EndpointUnknown FailoverState = "Unknown"
)

// Reasons of the condition Ready of failover records, and of their events.
const (
	// ReasonRecordPublished: the record is on the server and answers with endpoints.
	ReasonRecordPublished = "Published"
	// ReasonRecordAnswerChanged is of events only: the name answers with other endpoints.
	ReasonRecordAnswerChanged = "AnswerChanged"
	// ReasonRecordInvalid: the record cannot be written as the spec says.
	ReasonRecordInvalid = "InvalidRecord"
	// ReasonRecordNoZone: the server does not have a zone for the name.
	ReasonRecordNoZone = "ZoneNotFound"
	// ReasonRecordOwned: the name has records that this object did not write.
	ReasonRecordOwned = "NameTaken"
	// ReasonRecordForbidden: the service account of the record may not publish it.
	ReasonRecordForbidden = "Forbidden"
	// ReasonRecordUnreachable: the server does not answer, or refuses.
	ReasonRecordUnreachable = "ServerUnreachable"
	// ReasonRecordUnverified: the record is written, but the server does not answer with it.
	ReasonRecordUnverified = "NotAnswered"
	// ReasonRecordPending: external-dns has not observed the DNSEndpoint yet.
	ReasonRecordPending = "WaitingForExternalDNS"
	// ReasonRecordSuspended: spec.suspend is set.
	ReasonRecordSuspended = "Suspended"
	// ReasonRecordRepaired is of events only: records were changed by somebody else, and written again.
	ReasonRecordRepaired = "RecordsRepaired"
	// ReasonRecordMoved: "yuba move" has brought the object to another home, which writes its records, or is bringing it
	// here. Pools and claims have it, too.
	ReasonRecordMoved = "Moved"
)

// GetConditions returns the conditions of the status.
func (f *FailoverRecord) GetConditions() []metav1.Condition { return f.Status.Conditions }

// SetConditions replaces the conditions of the status.
func (f *FailoverRecord) SetConditions(conditions []metav1.Condition) {
	f.Status.Conditions = conditions
}

// FailoverRecordList is a list of failover records.
//
// +kubebuilder:object:root=true
type FailoverRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FailoverRecord `json:"items"`
}
