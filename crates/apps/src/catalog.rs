//! What was last known about the apps of an account. Kept in memory for an hour.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::app::App;

/// How long lists are used without asking again.
const FRESH_TIME: Duration = Duration::from_secs(60 * 60);
/// The same for featured plugins.
const FEATURED_FRESH: Duration = Duration::from_secs(3 * 60 * 60);

/// The account that lists are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountKey {
    pub account_id: Option<String>,
    pub user_id: Option<String>,
    pub is_workspace: bool,
}

/// What was last known. Lists of another account are forgotten.
#[derive(Debug, Default)]
pub struct AppCatalog {
    directory: Mutex<Option<KeptList>>,
    accessible: Mutex<Option<KeptList>>,
    featured: Mutex<Option<(AccountKey, Instant, Vec<String>)>>,
}

#[derive(Clone, Debug)]
struct KeptList {
    account: AccountKey,
    at: Instant,
    apps: Arc<Vec<App>>,
}

impl KeptList {
    fn new(account: &AccountKey, apps: Vec<App>) -> Self {
        Self {
            account: account.clone(),
            at: Instant::now(),
            apps: Arc::new(apps),
        }
    }

    fn for_account(kept: &Mutex<Option<Self>>, account: &AccountKey) -> Option<Arc<Vec<App>>> {
        let kept = kept.lock();
        let kept = kept.as_ref()?;
        let is_usable = kept.account == *account && kept.at.elapsed() < FRESH_TIME;
        is_usable.then(|| Arc::clone(&kept.apps))
    }
}

impl AppCatalog {
    /// The directory, if it is known and fresh.
    #[must_use]
    pub fn directory(&self, account: &AccountKey) -> Option<Arc<Vec<App>>> {
        KeptList::for_account(&self.directory, account)
    }

    /// The connected apps, if they are known and fresh.
    #[must_use]
    pub fn accessible(&self, account: &AccountKey) -> Option<Arc<Vec<App>>> {
        KeptList::for_account(&self.accessible, account)
    }

    /// The ids of featured plugins, if they are known and fresh.
    #[must_use]
    pub fn featured(&self, account: &AccountKey) -> Option<Vec<String>> {
        let kept = self.featured.lock();
        let (of, at, ids) = kept.as_ref()?;
        (of == account && at.elapsed() < FEATURED_FRESH).then(|| ids.clone())
    }

    /// Keeps the ids of featured plugins.
    pub fn keep_featured(&self, account: &AccountKey, ids: Vec<String>) {
        *self.featured.lock() = Some((account.clone(), Instant::now(), ids));
    }

    /// Keeps the directory.
    pub fn keep_directory(&self, account: &AccountKey, apps: Vec<App>) -> Arc<Vec<App>> {
        let kept = KeptList::new(account, apps);
        let apps = Arc::clone(&kept.apps);
        *self.directory.lock() = Some(kept);
        apps
    }

    /// Keeps the connected apps.
    pub fn keep_accessible(&self, account: &AccountKey, apps: Vec<App>) -> Arc<Vec<App>> {
        let kept = KeptList::new(account, apps);
        let apps = Arc::clone(&kept.apps);
        *self.accessible.lock() = Some(kept);
        apps
    }
}
