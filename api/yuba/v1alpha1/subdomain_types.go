// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The names of the kinds.
const (
	SubdomainPoolKind  = "SubdomainPool"
	SubdomainClaimKind = "SubdomainClaim"
)

const (
	// SubdomainPoolFinalizer is on pools: a pool stays while claims need its credentials.
	SubdomainPoolFinalizer = "yuba.dev/subdomain-pool"
	// SubdomainClaimFinalizer is on claims: deletion removes their records from the DNS server first.
	SubdomainClaimFinalizer = "yuba.dev/subdomain-claim"
	// AnnotationTakeOver of a pool allows one claim to take its name from another owner. Its value is NAMESPACE/CLAIM, the UID of
	// that claim, and the text of the registration that it replaces, each after a space. On claims it means nothing.
	AnnotationTakeOver = "yuba.dev/take-over"
)

// SubdomainPool is a domain whose subdomains are claimed: by SubdomainClaims, each by one owner at most.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Domain",type="string",JSONPath=".spec.domain",description="The domain whose subdomains are claimed."
// +kubebuilder:printcolumn:name="Claims",type="integer",JSONPath=".status.claims",description="How many claims name the pool."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created."
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether names can be claimed."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="The message of the condition Ready."
type SubdomainPool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The domain, its server, and the rules of names.
	Spec SubdomainPoolSpec `json:"spec"`

	// The observed state. The server writes it.
	// +optional
	Status SubdomainPoolStatus `json:"status,omitempty,omitzero"`
}

// SubdomainPoolSpec is the desired state of a pool.
//
// +kubebuilder:validation:XValidation:rule="has(self.powerDNS) != has(self.manual)",message="a pool has either powerDNS or manual"
// +kubebuilder:validation:XValidation:rule="has(self.powerDNS) == has(oldSelf.powerDNS) && (!has(self.powerDNS) || (self.powerDNS.url == oldSelf.powerDNS.url && has(self.powerDNS.zone) == has(oldSelf.powerDNS.zone) && (!has(self.powerDNS.zone) || self.powerDNS.zone == oldSelf.powerDNS.zone) && has(self.powerDNS.ownerID) == has(oldSelf.powerDNS.ownerID) && (!has(self.powerDNS.ownerID) || self.powerDNS.ownerID == oldSelf.powerDNS.ownerID)))",message="powerDNS.url, powerDNS.zone and powerDNS.ownerID cannot change, nor powerDNS to manual: claims would lose their records. Create another SubdomainPool"
type SubdomainPoolSpec struct {
	// The domain, such as apps.example.org, without the final dot.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=190
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the domain cannot change: create another SubdomainPool"
	Domain string `json:"domain"`

	// The domain itself is what is claimed, once, with the name "@". It is for a domain of one owner.
	// +optional
	Whole bool `json:"whole,omitempty"`

	// The PowerDNS authoritative server that has the domain.
	// +optional
	PowerDNS *PowerDNSServer `json:"powerDNS,omitempty"`

	// Somebody else writes the records: Yuba says which, and asks for them until they exist.
	// +optional
	Manual *ManualDNS `json:"manual,omitempty"`

	// The records of each claim, relative to its name: "@" is the name itself, and "*" all names below it. All have the
	// addresses of the claim. Defaults to @, *, console, api, gitea and harbor.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^(@|\*|[a-z0-9]([a-z0-9-]*[a-z0-9])?)$`
	// +kubebuilder:default:={"@","*","console","api","gitea","harbor"}
	// +listType=set
	// +optional
	Records []string `json:"records,omitempty"`

	// How many seconds resolvers may keep an answer.
	// +kubebuilder:default:=300
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	TTL int32 `json:"ttl,omitempty"`

	// How long a name is kept for a claim that does not have addresses yet.
	// +kubebuilder:default:="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	ReservationTTL metav1.Duration `json:"reservationTTL,omitempty"`

	// Names that nobody can claim, nor names that look like them, beside Yuba's own list (www, mail, admin, …).
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	Reserved []string `json:"reserved,omitempty"`

	// Texts that no name may contain, however their letters are replaced by others that look like them.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	Blocked []string `json:"blocked,omitempty"`

	// Allow internationalized names (RFC 5891), such as müller. Names that mix scripts, or look like ASCII names, are
	// refused in any case.
	// +optional
	International bool `json:"international,omitempty"`

	// The namespaces whose claims the pool accepts, beside its own; "*" is all of them.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	AllowedNamespaces []string `json:"allowedNamespaces,omitempty"`

	// How many names the claims of one namespace can have. It does not apply to the pool's own namespace.
	// +kubebuilder:default:=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MaxClaimsPerNamespace int32 `json:"maxClaimsPerNamespace,omitempty"`

	// How often a namespace can reserve a name again without addresses for it, after the first reservation. A claim
	// that is deleted and created again goes on counting. Addresses end the count, and so does a day without the name.
	// +kubebuilder:default:=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MaxRenewals int32 `json:"maxRenewals,omitempty"`

	// How often the records of claims are compared with those of the server.
	// +kubebuilder:default:="1m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +optional
	Interval metav1.Duration `json:"interval,omitempty"`
}

// ManualDNS is a DNS server that Yuba cannot write to.
type ManualDNS struct {
	// The resolver that is asked for the records, as HOST:PORT. Defaults to that of Yuba's machine.
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:Pattern=`^[^\s/@]+:[0-9]+$`
	// +optional
	Resolver string `json:"resolver,omitempty"`
}

// SubdomainPoolStatus is the observed state of a pool.
type SubdomainPoolStatus struct {
	// The generation of the object that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The request of the annotation reconcile.fluxcd.io/requestedAt that was handled last.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// The zone of the server that has the domain.
	// +optional
	Zone string `json:"zone,omitempty"`

	// The version of the PowerDNS server.
	// +optional
	ServerVersion string `json:"serverVersion,omitempty"`

	// How many claims name the pool.
	// +optional
	Claims int32 `json:"claims"`

	// The names that were reserved and do not have addresses yet, with those that claims gave up in the last day: a
	// claim that is created anew does not reserve a name without end.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	Reservations []SubdomainReservation `json:"reservations,omitempty"`

	// The condition Ready: True while names can be claimed.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SubdomainClaim claims a subdomain of a pool for one owner. Without addresses, the name is reserved, for a time; with
// them, its records are written and kept. Deletion releases the name.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Domain",type="string",JSONPath=".status.domain",description="The claimed domain."
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="Reserved, Committed or Expired."
// +kubebuilder:printcolumn:name="Addresses",type="string",JSONPath=".status.addresses",description="The addresses of the records."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created."
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the records exist."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="The message of the condition Ready."
type SubdomainClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The name, and the addresses it leads to.
	Spec SubdomainClaimSpec `json:"spec"`

	// The observed state. The server writes it.
	// +optional
	Status SubdomainClaimStatus `json:"status,omitempty,omitzero"`
}

// SubdomainClaimSpec is the desired state of a claim.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.addresses) && has(self.addressesFrom))",message="a claim has addresses or addressesFrom, not both"
type SubdomainClaimSpec struct {
	// The pool.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the pool cannot change: create another SubdomainClaim"
	PoolRef meta.NamespacedObjectReference `json:"poolRef"`

	// The name below the pool's domain, such as acme; "@" for the domain itself if the pool's spec.whole is true.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the name cannot change: create another SubdomainClaim"
	Name string `json:"name"`

	// The IPv4 and IPv6 addresses that the records lead to. Without any, the name is reserved until they are known.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=45
	// +listType=set
	// +optional
	Addresses []string `json:"addresses,omitempty"`

	// Take the addresses from an output of a stack.
	// +optional
	AddressesFrom *StackOutput `json:"addressesFrom,omitempty"`
}

// StackOutput is an output of a stack of the same namespace, which writes it to a Secret (spec.writeOutputsToSecret).
type StackOutput struct {
	// The name of the stack.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Stack string `json:"stack"`

	// The name of the output: an address, or a list of addresses.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Output string `json:"output"`
}

// SubdomainPhase is how far a claim is.
type SubdomainPhase string

const (
	// SubdomainReserved: the name is the claim's until it expires, and has no records yet.
	SubdomainReserved SubdomainPhase = "Reserved"
	// SubdomainCommitted: the name is the claim's, and its records are written.
	SubdomainCommitted SubdomainPhase = "Committed"
	// SubdomainExpired: the reservation is over, and the name is free again.
	SubdomainExpired SubdomainPhase = "Expired"
)

// SubdomainClaimStatus is the observed state of a claim.
type SubdomainClaimStatus struct {
	// The generation of the object that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The request of the annotation reconcile.fluxcd.io/requestedAt that was handled last.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// The claimed domain, such as acme.apps.example.org.
	// +optional
	Domain string `json:"domain,omitempty"`

	// Reserved, Committed or Expired; empty while the claim does not have the name.
	// +optional
	Phase SubdomainPhase `json:"phase,omitempty"`

	// When the name was reserved.
	// +optional
	ReservedAt *metav1.Time `json:"reservedAt,omitempty"`

	// When the reservation expires.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// How often the name was reserved again since it last had addresses.
	// +optional
	Renewals int32 `json:"renewals,omitempty"`

	// When the records were first written.
	// +optional
	CommittedAt *metav1.Time `json:"committedAt,omitempty"`

	// Where the name is registered. It is known before anything is written there.
	// +optional
	Place *SubdomainPlace `json:"place,omitempty"`

	// The addresses of the records, comma-separated.
	// +optional
	Addresses string `json:"addresses,omitempty"`

	// The records of the claim: those that Yuba wrote, or those to create manually.
	// +listType=atomic
	// +optional
	Records []SubdomainRecord `json:"records,omitempty"`

	// The UIDs of the claim at the homes that it was moved from, until its registration on the DNS server names this one.
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +optional
	FormerUIDs []string `json:"formerUIDs,omitempty"`

	// Identify the last writes of the claim, the newest last. The TXT record beside the name has the last one; another one there
	// means that a copy of the claim has written since.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +optional
	Writes []string `json:"writes,omitempty"`

	// The last time that Yuba found records that somebody else had changed, and wrote them again.
	// +optional
	LastRepair *SubdomainRepair `json:"lastRepair,omitempty"`

	// The condition Ready: True while the records exist.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SubdomainReservation counts how often a namespace has reserved a name.
type SubdomainReservation struct {
	// The namespace of the claims.
	Namespace string `json:"namespace"`
	// The domain.
	Domain string `json:"domain"`
	// The UID of the last claim.
	// +optional
	Claim string `json:"claim,omitempty"`
	// How often it was reserved again, after the first time.
	// +optional
	Renewals int32 `json:"renewals,omitempty"`
	// When the last reservation began.
	ReservedAt metav1.Time `json:"reservedAt"`
}

// SubdomainRepair is a repair of records.
type SubdomainRepair struct {
	// When Yuba found them.
	At metav1.MicroTime `json:"at"`
	// The records as they were, such as "console.acme.example.org A was 203.0.113.66 with TTL 60".
	// +listType=atomic
	// +optional
	Records []string `json:"records,omitempty"`
}

// SubdomainPlace is a zone of a server.
type SubdomainPlace struct {
	// The URL of the server's API.
	URL string `json:"url"`
	// The zone.
	Zone string `json:"zone"`
	// The ownerID of the registration.
	OwnerID string `json:"ownerID"`
}

// SubdomainRecord is the record set of a name with one type.
type SubdomainRecord struct {
	// The name, without the final dot.
	Name string `json:"name"`
	// A or AAAA.
	Type string `json:"type"`
	// How many seconds resolvers may keep it.
	TTL int32 `json:"ttl"`
	// The addresses.
	// +listType=atomic
	Addresses []string `json:"addresses"`
}
