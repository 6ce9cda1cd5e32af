// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TenantRegistryKind is the name of the kind.
const TenantRegistryKind = "TenantRegistry"

// TenantRegistry is a table whose rows are tenants. It is read on an interval, and each active row gets a Tenant for every
// TenantTemplate that names the registry.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=all
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".status.desired",description="How many tenants there should be."
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.ready",description="How many tenants are ready."
// +kubebuilder:printcolumn:name="Failed",type="integer",JSONPath=".status.failed",description="How many tenants have failed."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether the registry could be read."
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

// TenantRegistrySpec says where rows are and what they mean.
type TenantRegistrySpec struct {
	// Where the rows are.
	// +kubebuilder:validation:Required
	Source DataSource `json:"source"`

	// The columns that every tenant has.
	// +kubebuilder:validation:Required
	ValueMappings ValueMappings `json:"valueMappings"`

	// More columns: the name that templates use, and the column.
	// +kubebuilder:validation:MaxProperties=200
	// +optional
	ExtraValueMappings map[string]string `json:"extraValueMappings,omitempty"`

	// What keeps a mistake in the table from costing tenants. Addition of Yuba.
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
	// Which of the fields below says where the rows are.
	// +kubebuilder:validation:Required
	Type SourceType `json:"type"`

	// How often the rows are read. PostgreSQL can tell of changes at once.
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

	// A table of a SQLite file below a directory that the server allows. Addition of Yuba.
	// +optional
	SQLite *SQLiteSource `json:"sqlite,omitempty"`

	// A JSON document that a web server gives out. Addition of Yuba.
	// +optional
	HTTP *HTTPSource `json:"http,omitempty"`

	// A key of a ConfigMap with YAML, JSON or CSV. Addition of Yuba.
	// +optional
	ConfigMap *ConfigMapSource `json:"configMap,omitempty"`

	// Which rows count: all conditions must hold. The values are bound, never written into the query. Addition of Yuba.
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
	// The column that is looked at.
	// +kubebuilder:validation:MinLength=1
	Column string `json:"column"`
	// In: the column has one of the values. NotIn: it has none of them, or is NULL. Exists and DoesNotExist: it is not NULL,
	// or it is.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator string `json:"operator"`
	// The values that In and NotIn compare with.
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Values []string `json:"values,omitempty"`
}

// TLSMode says how a connection to a database is secured.
// +kubebuilder:validation:Enum=disable;require;verify-ca;verify-full
type TLSMode string

// TLS is how a connection to a database is secured. Addition of Yuba.
type TLS struct {
	// disable: not at all. require: encrypted, whoever answers. verify-ca: by somebody whom the authority knows. verify-full: by the
	// host that is named.
	// +kubebuilder:default=verify-full
	// +optional
	Mode TLSMode `json:"mode,omitempty"`
	// The authority's certificates, PEM. The system's, when there are none.
	// +optional
	CARef *SecretRef `json:"caRef,omitempty"`
	// A Secret with tls.crt and tls.key, to show to the server.
	// +optional
	ClientSecretName string `json:"clientSecretName,omitempty"`
}

// MySQLSource is a table of MySQL or MariaDB.
type MySQLSource struct {
	// The server's name or address.
	// +kubebuilder:validation:Required
	Host string `json:"host"`
	// The server's port, 3306 by default.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=3306
	Port int32 `json:"port"`
	// A user who may read the table.
	// +kubebuilder:validation:Required
	Username string `json:"username"`
	// Where the user's password is. None is sent without it.
	// +optional
	PasswordRef *SecretRef `json:"passwordRef,omitempty"`
	// The database that has the table.
	// +kubebuilder:validation:Required
	Database string `json:"database"`
	// The table or view whose rows are tenants.
	// +kubebuilder:validation:Required
	Table string `json:"table"`
	// How the connection is secured. Without it, it is encrypted when the server offers that, as it always was. Addition of Yuba.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
}

// PostgresSource is a table of PostgreSQL. Addition of Yuba.
type PostgresSource struct {
	// The server's name or address.
	// +kubebuilder:validation:Required
	Host string `json:"host"`
	// The server's port, 5432 by default.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=5432
	// +optional
	Port int32 `json:"port,omitempty"`
	// A user who may read the table.
	// +kubebuilder:validation:Required
	Username string `json:"username"`
	// Where the user's password is. None is sent without it.
	// +optional
	PasswordRef *SecretRef `json:"passwordRef,omitempty"`
	// The database that has the table.
	// +kubebuilder:validation:Required
	Database string `json:"database"`
	// The schema that has the table, public by default.
	// +kubebuilder:default=public
	// +optional
	Schema string `json:"schema,omitempty"`
	// The table or view whose rows are tenants.
	// +kubebuilder:validation:Required
	Table string `json:"table"`
	// The channel of NOTIFY that tells of changes. Nobody listens when it is left out.
	// +optional
	Channel string `json:"channel,omitempty"`
	// How the connection is secured. Without it, it is encrypted when the server offers that.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
}

// SQLiteSource is a table of a SQLite file. Addition of Yuba.
type SQLiteSource struct {
	// The file, below a directory that the server allows with --sqlite-sources: its absolute path, or the one from there.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:MinLength=1
	Path string `json:"path"`
	// The table or view whose rows are tenants.
	// +kubebuilder:validation:Required
	Table string `json:"table"`
}

// HTTPSource is a JSON document that a web server gives out. Addition of Yuba.
type HTTPSource struct {
	// Where the document is.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:Pattern=`^https?://`
	URL string `json:"url"`
	// Where the list of rows is in the document, such as .data.tenants. The document itself, when it is left out.
	// +optional
	Rows string `json:"rows,omitempty"`
	// Where the address of the next page is in the document; a header "Link" with rel="next" counts, too.
	// +optional
	Next string `json:"next,omitempty"`
	// A Secret with "token", or "username" and "password", and with "ca.crt", "tls.crt" and "tls.key", as far as they are needed.
	// +optional
	SecretName string `json:"secretName,omitempty"`
}

// ConfigMapSource is a key of a ConfigMap in the registry's namespace: a list in YAML or JSON, or CSV with a line of names.
// Addition of Yuba.
type ConfigMapSource struct {
	// The name of the ConfigMap.
	// +kubebuilder:validation:Required
	Name string `json:"name"`
	// The key in the ConfigMap; .json, .yaml, .yml or .csv at its end says what it has.
	// +kubebuilder:validation:Required
	Key string `json:"key"`
}

// ValueMappings name the columns that every tenant has.
type ValueMappings struct {
	// The column that tells tenants apart. Templates have it as .uid, which is fit for names, and as .rawUid.
	// +kubebuilder:validation:Required
	UID string `json:"uid"`
	// The column with the tenant's address. Templates have it as .hostOrUrl, and its host as .host.
	// +optional
	HostOrURL string `json:"hostOrUrl,omitempty"`
	// The tenant is active when the column is 1, true, TRUE, True, yes, YES or Yes.
	// +kubebuilder:validation:Required
	Activate string `json:"activate"`
}

// DefaultMaxDeletePercent is how many tenants may go in one reading unless a registry says otherwise.
const DefaultMaxDeletePercent = 10

// Protection keeps a mistake in the table from costing tenants. Addition of Yuba.
type Protection struct {
	// How many of the tenants may go in one reading before that is held until somebody confirms it, in percent. One may always.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxDeletePercent *int32 `json:"maxDeletePercent,omitempty"`
	// How long a tenant whose row is inactive or gone stays, such as 72h.
	// +kubebuilder:default="0s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(([0-9]{1,6}(\.[0-9]+)?h)|([0-9]{1,7}(\.[0-9]+)?m)|([0-9]{1,9}(\.[0-9]+)?(s|ms|us|µs|ns)))+$|^0$`
	// +kubebuilder:validation:MaxLength=20
	// +optional
	GracePeriod *metav1.Duration `json:"gracePeriod,omitempty"`
}

// TenantRegistryStatus is what was last seen of a registry.
// +structType=atomic
type TenantRegistryStatus struct {
	// The generation that was last looked at.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// How many templates name the registry.
	// +optional
	ReferencingTemplates int32 `json:"referencingTemplates,omitempty"`
	// How many tenants there should be: active rows times templates.
	// +optional
	Desired int32 `json:"desired,omitempty"`
	// How many tenants are ready.
	// +optional
	Ready int32 `json:"ready,omitempty"`
	// How many tenants have failed.
	// +optional
	Failed int32 `json:"failed,omitempty"`

	// What was read last. Addition of Yuba.
	// +optional
	LastSync *SyncStatus `json:"lastSync,omitempty"`
	// The deletion that waits for somebody to confirm it. Addition of Yuba.
	// +optional
	Held *HeldDeletion `json:"held,omitempty"`
	// The last request to read the rows now that was answered: the value of the annotation
	// reconcile.fluxcd.io/requestedAt. Addition of Yuba.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// What is known of the registry, by type: Ready, Held.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SyncStatus is about one reading of the rows. Addition of Yuba.
type SyncStatus struct {
	// When the rows were found to be as they are now. Readings that find nothing new do not change it.
	// +optional
	ChangedAt *metav1.Time `json:"changedAt,omitempty"`
	// How many rows there were.
	// +optional
	Rows int32 `json:"rows,omitempty"`
	// How many of them were active.
	// +optional
	Active int32 `json:"active,omitempty"`
	// Rows that were left out, and why, the first few of them.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	Rejected []string `json:"rejected,omitempty"`
	// How many rows were left out.
	// +optional
	RejectedRows int32 `json:"rejectedRows,omitempty"`
}

// MaxNamed is how many rows or tenants a status names at most.
const MaxNamed = 20

// HeldDeletion is a deletion of many tenants that waits. Addition of Yuba.
type HeldDeletion struct {
	// What has to be written into the annotation operator.kubernetes-tenants.org/confirm-deletion for it to go on.
	ID string `json:"id"`
	// How many tenants would go.
	Count int32 `json:"count"`
	// The first of the tenants that would go.
	// +kubebuilder:validation:MaxItems=20
	// +optional
	Tenants []string `json:"tenants,omitempty"`
	// Why they are held, for people.
	// +optional
	Message string `json:"message,omitempty"`
	// Since when they are held.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Whether somebody has confirmed it; count is then how many of the tenants are still to go.
	// +optional
	Confirmed bool `json:"confirmed,omitempty"`
	// Which tenants were confirmed, eight bytes for each: no others go with them after a restart.
	// +optional
	Covered []byte `json:"covered,omitempty"`
}
