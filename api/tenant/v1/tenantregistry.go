// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TenantRegistryKind is the name of the kind.
const TenantRegistryKind = "TenantRegistry"

// TenantRegistry is a table whose rows are tenants. Yuba reads it at an interval, and creates a
// Tenant for each active row and each TenantTemplate that names the registry.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=all
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".status.desired",description="How many tenants the registry should have."
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.ready",description="How many tenants are ready."
// +kubebuilder:printcolumn:name="Failed",type="integer",JSONPath=".status.failed",description="How many tenants have failed."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether the last sync succeeded."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type TenantRegistry struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TenantRegistrySpec   `json:"spec,omitempty"`
	Status TenantRegistryStatus `json:"status,omitempty"`
}

// TenantRegistryList is a list of registries.
//
// +kubebuilder:object:root=true
type TenantRegistryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TenantRegistry `json:"items"`
}

// SourceType says where rows are. All but mysql are additions of Yuba.
// +kubebuilder:validation:Enum=mysql;postgres;sqlite;http;configMap
type SourceType string

const (
	SourceMySQL     SourceType = "mysql"
	SourcePostgres  SourceType = "postgres"
	SourceSQLite    SourceType = "sqlite"
	SourceHTTP      SourceType = "http"
	SourceConfigMap SourceType = "configMap"
)

// TenantRegistrySpec says where the rows are and what their columns mean.
type TenantRegistrySpec struct {
	// Where the rows are.
	// +kubebuilder:validation:Required
	Source DataSource `json:"source"`

	// The columns that every tenant has.
	// +kubebuilder:validation:Required
	ValueMappings ValueMappings `json:"valueMappings"`

	// Additional columns: a map of the name in templates to the column.
	// +kubebuilder:validation:MaxProperties=200
	// +optional
	ExtraValueMappings map[string]string `json:"extraValueMappings,omitempty"`

	// Limits on deletions, so that a mistake in the table does not delete tenants.
	// Addition of Yuba.
	// +optional
	Protection *Protection `json:"protection,omitempty"`
}

// DataSource is where rows are.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'mysql' || has(self.mysql)",message="source.type mysql needs source.mysql"
// +kubebuilder:validation:XValidation:rule="self.type != 'postgres' || has(self.postgres)",message="source.type postgres needs source.postgres"
// +kubebuilder:validation:XValidation:rule="self.type != 'sqlite' || has(self.sqlite)",message="source.type sqlite needs source.sqlite"
// +kubebuilder:validation:XValidation:rule="self.type != 'http' || has(self.http)",message="source.type http needs source.http"
// +kubebuilder:validation:XValidation:rule="self.type != 'configMap' || has(self.configMap)",message="source.type configMap needs source.configMap"
type DataSource struct {
	// The type of the source, which names one of the fields below.
	// +kubebuilder:validation:Required
	Type SourceType `json:"type"`

	// How often to read the rows. PostgreSQL can also notify Yuba of changes.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:Pattern=`^[0-9]+(s|m|h)$`
	// +kubebuilder:default="30s"
	SyncInterval string `json:"syncInterval"`

	// A table of MySQL or MariaDB.
	// +optional
	MySQL *MySQLSource `json:"mysql,omitempty"`

	// A table of PostgreSQL. Addition of Yuba.
	// +optional
	Postgres *PostgresSource `json:"postgres,omitempty"`

	// A table in a SQLite file, below a directory that the server allows. Addition of Yuba.
	// +optional
	SQLite *SQLiteSource `json:"sqlite,omitempty"`

	// A JSON document from a web server. Addition of Yuba.
	// +optional
	HTTP *HTTPSource `json:"http,omitempty"`

	// A key of a ConfigMap with YAML, JSON or CSV. Addition of Yuba.
	// +optional
	ConfigMap *ConfigMapSource `json:"configMap,omitempty"`

	// Conditions for rows; all must hold. Values are passed as query parameters, never as part of
	// the query text. Addition of Yuba.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	Where []RowCondition `json:"where,omitempty"`
}

// What RowCondition.Operator says.
const (
	// RowIn: the column has one of the values.
	RowIn = "In"
	// RowNotIn: the column has none of the values. NULL is none of them.
	RowNotIn = "NotIn"
	// RowExists: the column is not NULL.
	RowExists = "Exists"
	// RowDoesNotExist: the column is NULL.
	RowDoesNotExist = "DoesNotExist"
)

// RowCondition is one condition that rows must meet.
//
// +kubebuilder:validation:XValidation:rule="self.operator in ['Exists', 'DoesNotExist'] ? !has(self.values) || size(self.values) == 0 : has(self.values) && size(self.values) > 0",message="In and NotIn need values; Exists and DoesNotExist have none"
type RowCondition struct {
	// The column to check.
	// +kubebuilder:validation:MinLength=1
	Column string `json:"column"`
	// In: the column has one of the values. NotIn: it has none of them, or is NULL. Exists: it is
	// not NULL. DoesNotExist: it is NULL.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator string `json:"operator"`
	// The values for In and NotIn.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Values []string `json:"values,omitempty"`
}

// TLSMode says how a connection to a database is secured.
// +kubebuilder:validation:Enum=disable;require;verify-ca;verify-full
type TLSMode string

// TLS says how to secure a connection to a database. Addition of Yuba.
type TLS struct {
	// disable: no TLS. require: encrypt, without verifying the server. verify-ca: also verify that
	// a known authority signed the server's certificate. verify-full: also verify the host name.
	// +kubebuilder:default=verify-full
	// +optional
	Mode TLSMode `json:"mode,omitempty"`
	// The authority's certificates, as PEM. Defaults to those of the system.
	// +optional
	CARef *SecretRef `json:"caRef,omitempty"`
	// A Secret with the client certificate, as tls.crt and tls.key.
	// +optional
	ClientSecretName string `json:"clientSecretName,omitempty"`
}

// MySQLSource is a table of MySQL or MariaDB.
type MySQLSource struct {
	// The host name or address of the server.
	// +kubebuilder:validation:Required
	Host string `json:"host"`
	// The server's port, 3306 by default.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=3306
	Port int32 `json:"port"`
	// The user name. The user must be able to read the table.
	// +kubebuilder:validation:Required
	Username string `json:"username"`
	// The Secret with the password. Without it, Yuba sends no password.
	// +optional
	PasswordRef *SecretRef `json:"passwordRef,omitempty"`
	// The database of the table.
	// +kubebuilder:validation:Required
	Database string `json:"database"`
	// The table or view whose rows are tenants.
	// +kubebuilder:validation:Required
	Table string `json:"table"`
	// How to secure the connection. Without it, the connection is encrypted if the server offers
	// encryption, as with the Tenant Operator. Addition of Yuba.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
}

// PostgresSource is a table of PostgreSQL. Addition of Yuba.
type PostgresSource struct {
	// The host name or address of the server.
	// +kubebuilder:validation:Required
	Host string `json:"host"`
	// The server's port, 5432 by default.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=5432
	// +optional
	Port int32 `json:"port,omitempty"`
	// The user name. The user must be able to read the table.
	// +kubebuilder:validation:Required
	Username string `json:"username"`
	// The Secret with the password. Without it, Yuba sends no password.
	// +optional
	PasswordRef *SecretRef `json:"passwordRef,omitempty"`
	// The database of the table.
	// +kubebuilder:validation:Required
	Database string `json:"database"`
	// The schema of the table, public by default.
	// +kubebuilder:default=public
	// +optional
	Schema string `json:"schema,omitempty"`
	// The table or view whose rows are tenants.
	// +kubebuilder:validation:Required
	Table string `json:"table"`
	// The NOTIFY channel for changes. Without it, Yuba does not listen.
	// +optional
	Channel string `json:"channel,omitempty"`
	// How to secure the connection. Without it, the connection is encrypted if the server offers
	// encryption.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
}

// SQLiteSource is a table of a SQLite file. Addition of Yuba.
type SQLiteSource struct {
	// The file: an absolute path, or a path relative to a directory that the server allows with
	// --sqlite-sources.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:MinLength=1
	Path string `json:"path"`
	// The table or view whose rows are tenants.
	// +kubebuilder:validation:Required
	Table string `json:"table"`
}

// HTTPSource is a JSON document from a web server. Addition of Yuba.
type HTTPSource struct {
	// The URL of the document.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:Pattern=`^https?://`
	URL string `json:"url"`
	// The path of the list of rows in the document, such as .data.tenants. Defaults to the document
	// itself.
	// +optional
	Rows string `json:"rows,omitempty"`
	// The path of the next page's address in the document. A "Link" header with rel="next" also
	// works.
	// +optional
	Next string `json:"next,omitempty"`
	// A Secret with credentials: "token", or "username" and "password"; and "ca.crt", "tls.crt" and
	// "tls.key" as needed.
	// +optional
	SecretName string `json:"secretName,omitempty"`
}

// ConfigMapSource is a key of a ConfigMap in the registry's namespace: a list in YAML or JSON, or
// CSV with a header line. Addition of Yuba.
type ConfigMapSource struct {
	// The name of the ConfigMap.
	// +kubebuilder:validation:Required
	Name string `json:"name"`
	// The key in the ConfigMap. Its extension sets the format: .json, .yaml, .yml or .csv.
	// +kubebuilder:validation:Required
	Key string `json:"key"`
}

// ValueMappings name the columns that every tenant has.
type ValueMappings struct {
	// The column that identifies a tenant. Templates have it as .uid, in a form valid for names,
	// and as .rawUid.
	// +kubebuilder:validation:Required
	UID string `json:"uid"`
	// The column with the tenant's address. Templates have it as .hostOrUrl, and its host as .host.
	// +optional
	HostOrURL string `json:"hostOrUrl,omitempty"`
	// The column that activates a tenant. Active values are 1, true, TRUE, True, yes, YES and Yes.
	// +kubebuilder:validation:Required
	Activate string `json:"activate"`
}

// DefaultMaxDeletePercent is the default share of tenants that one reading may delete.
const DefaultMaxDeletePercent = 10

// Protection limits deletions, so that a mistake in the table does not delete tenants. Addition of
// Yuba.
type Protection struct {
	// How many percent of the tenants one sync may delete. Larger deletions are held until somebody
	// confirms them. A single tenant is never held.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxDeletePercent *int32 `json:"maxDeletePercent,omitempty"`
	// How long to keep a tenant whose row is inactive or gone, such as 72h.
	// +kubebuilder:default="0s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(([0-9]{1,6}(\.[0-9]+)?h)|([0-9]{1,7}(\.[0-9]+)?m)|([0-9]{1,9}(\.[0-9]+)?(s|ms|us|µs|ns)))+$|^0$`
	// +kubebuilder:validation:MaxLength=20
	// +optional
	GracePeriod *metav1.Duration `json:"gracePeriod,omitempty"`
}

// TenantRegistryStatus is the observed state of a registry.
// +structType=atomic
type TenantRegistryStatus struct {
	// The generation that was last reconciled.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// How many templates name the registry.
	// +optional
	ReferencingTemplates int32 `json:"referencingTemplates,omitempty"`
	// How many tenants the registry should have: active rows times templates.
	// +optional
	Desired int32 `json:"desired,omitempty"`
	// How many tenants are ready.
	// +optional
	Ready int32 `json:"ready,omitempty"`
	// How many tenants have failed.
	// +optional
	Failed int32 `json:"failed,omitempty"`

	// The last sync. Addition of Yuba.
	// +optional
	LastSync *SyncStatus `json:"lastSync,omitempty"`
	// The deletion that is held until somebody confirms it. Addition of Yuba.
	// +optional
	Held *HeldDeletion `json:"held,omitempty"`
	// The last handled value of the annotation reconcile.fluxcd.io/requestedAt, which requests a
	// sync. Addition of Yuba.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// The conditions of the registry: Ready, Held.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SyncStatus describes one sync: reading the rows. Addition of Yuba.
type SyncStatus struct {
	// When the rows last changed. A sync that finds no change does not update it.
	// +optional
	ChangedAt *metav1.Time `json:"changedAt,omitempty"`
	// How many rows the source had.
	// +optional
	Rows int32 `json:"rows,omitempty"`
	// How many of them were active.
	// +optional
	Active int32 `json:"active,omitempty"`
	// The first rejected rows, with reasons.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	Rejected []string `json:"rejected,omitempty"`
	// How many rows were rejected.
	// +optional
	RejectedRows int32 `json:"rejectedRows,omitempty"`
}

// MaxNamed is how many rows or tenants a status names at most.
const MaxNamed = 20

// HeldDeletion is a deletion of many tenants that is held. Addition of Yuba.
type HeldDeletion struct {
	// The id of the deletion. To confirm it, write the id to the annotation
	// operator.kubernetes-tenants.org/confirm-deletion.
	ID string `json:"id"`
	// How many tenants would be deleted.
	Count int32 `json:"count"`
	// The first tenants that would be deleted.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	Tenants []string `json:"tenants,omitempty"`
	// Why the deletion is held.
	// +optional
	Message string `json:"message,omitempty"`
	// Since when the deletion is held.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Whether somebody has confirmed the deletion. If so, count is how many of the tenants are
	// still to be deleted.
	// +optional
	Confirmed bool `json:"confirmed,omitempty"`
	// The confirmed tenants, eight bytes for each, so that no others are deleted after a restart.
	// +optional
	Covered []byte `json:"covered,omitempty"`
}
